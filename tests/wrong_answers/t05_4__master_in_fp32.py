# message: a master in FP32 rounds these sums
def steps_to_move(w, update):
    steps, master = 0, np.float32(w)
    while np.float16(master) == np.float16(w):
        steps, master = steps + 1, master + np.float32(update)
    return (1 if to16(w + update) != w else inf), steps
