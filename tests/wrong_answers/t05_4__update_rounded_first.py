# message: the update was rounded to FP16 before it was added
def steps_to_move(w, update):
    steps = 1
    while to16(w + steps * update) == w:
        steps += 1
    moves = np.float16(w) + np.float16(update) != np.float16(w)
    return (1 if moves else inf), steps
