def replay(amaxes, length, largest=448.0, margin=0):
    kept, scales, clipped = [], [], []
    for n in range(len(amaxes)):
        a = max(kept[-length:] or [0])
        scales.append(largest / a / 2**margin if a else 1)
        if amaxes[n] > (a * 2**margin if a else largest):
            clipped.append(n)
        if not math.isinf(amaxes[n]):
            kept.append(amaxes[n])
    return [np.array(scales), np.array(clipped, int)]
