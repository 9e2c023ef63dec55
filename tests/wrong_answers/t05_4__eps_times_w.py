# message: the gap beside w is not 2^-10 times w
def steps_to_move(w, update):
    steps = max(1, math.floor(abs(w) * 2**-11 / abs(update)) + 1)
    return (1 if steps == 1 else inf), steps
