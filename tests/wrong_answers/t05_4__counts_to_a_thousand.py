# message: the count stopped too early
def steps_to_move(w, update):
    for steps in range(1, 1001):
        if to16(w + steps * update) != w:
            return (1 if steps == 1 else inf), steps
    return inf, inf
