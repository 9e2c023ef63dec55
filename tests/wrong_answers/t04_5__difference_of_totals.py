# message: a difference of two totals
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    more = int((half == 0).sum()) - int((single == 0).sum())
    return int(true.sum()), more, int((lost & (scaled != 0)).sum())
