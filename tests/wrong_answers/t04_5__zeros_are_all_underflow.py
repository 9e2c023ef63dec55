# message: zeros are not all underflow
def sort_zeros(half, single, scale):
    lost = half == 0
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    return 0, int(lost.sum()), int((lost & (scaled != 0)).sum())
