def sort_zeros(half, single, scale):
    counts = [0, 0, 0]
    for h, s in zip(half.tolist(), single.tolist(), strict=True):
        if h == 0:
            counts[s != 0] += 1
            counts[2] += abs(s) * scale > 2.0**-25
    return tuple(counts)
