# message: what an addition loses is gone
def steps_to_move(w, update):
    steps = 1
    while to16(w + steps * update) == w:
        steps += 1
    return steps, steps
