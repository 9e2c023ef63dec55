# message: an update below 0 moves the weight too
def steps_to_move(w, update):
    steps = 1
    while to16(w + steps * update) <= w:
        steps += 1
        if steps > 5000:
            return inf, inf
    return (1 if steps == 1 else inf), steps
