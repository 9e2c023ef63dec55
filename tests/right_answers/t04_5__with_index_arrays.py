def sort_zeros(half, single, scale):
    there = single[half == 0]
    nonzero = there[there != 0].astype(float)
    return there.size - nonzero.size, nonzero.size, np.count_nonzero(np.float16(nonzero * scale))
