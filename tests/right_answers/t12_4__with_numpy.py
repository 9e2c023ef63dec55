def replay(amaxes, length, largest=448.0, margin=0):
    amaxes = np.array(amaxes)
    tops = np.zeros(len(amaxes))
    for step in range(1, len(amaxes)):
        past = amaxes[:step]
        past = past[np.isfinite(past)][-length:]
        tops[step] = past.max() if len(past) else 0
    used = tops > 0
    limits = np.where(used, tops * 2**margin, largest)
    scales = largest / limits
    return scales.tolist(), np.flatnonzero(amaxes > limits).tolist()
