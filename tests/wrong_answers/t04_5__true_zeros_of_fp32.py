# message: counts zeros of `single` where `half` is not 0
def sort_zeros(half, single, scale):
    lost = (half == 0) & (single != 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    return int((single == 0).sum()), int(lost.sum()), int((lost & (scaled != 0)).sum())
