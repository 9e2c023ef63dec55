# message: not all below 2^-24 is 0 in FP16
def sort_zeros(half, single, scale):
    size = np.abs(single)
    lost = (size > 0) & (size < 2.0**-24)
    true = (half == 0) & (single == 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    return int(true.sum()), int(lost.sum()), int((lost & (scaled != 0)).sum())
