def steps_to_move(w, update):
    weights = to16(w + update * np.arange(5002))
    steps = int(np.argmax(weights != w))
    without = 1 if weights[1] != w else inf
    return without, steps
