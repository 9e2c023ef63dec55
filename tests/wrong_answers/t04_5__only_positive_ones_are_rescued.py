# message: a negative gradient underflows and is rescued
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    return int(true.sum()), int(lost.sum()), int((lost & (scaled > 0)).sum())
