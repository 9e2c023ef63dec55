def steps_to_move(w, update):
    master, count = np.float64(w), 0
    weight = np.float16(w)
    while master.astype(np.float16) == weight:
        count += 1
        master = np.float64(w) + count * np.float64(update)
    stuck = (np.float64(w) + update).astype(np.float16) == weight
    return math.inf if stuck else 1, count
