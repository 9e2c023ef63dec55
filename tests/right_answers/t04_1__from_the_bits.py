def count_exponents(values):
    magnitudes = np.abs(values)
    tiny = magnitudes < 2.0**-1022
    bits = np.where(tiny, magnitudes * 2.0**64, magnitudes).view(np.int64)
    exponents = (bits >> 52) - 1023 - np.where(tiny, 64, 0)
    wanted = exponents[(magnitudes > 0) & (magnitudes < np.inf)]
    counts = {int(e): int((wanted == e).sum()) for e in set(wanted.tolist())}
    return counts, int((magnitudes == 0).sum())
