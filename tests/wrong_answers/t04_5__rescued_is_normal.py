# message: a subnormal number is enough
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = np.abs(single.astype(np.float64) * scale).astype(np.float16)
    return int(true.sum()), int(lost.sum()), int((lost & (scaled >= 2.0**-14)).sum())
