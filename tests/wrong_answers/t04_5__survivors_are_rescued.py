# message: had no need of a rescue
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = (single.astype(np.float64) * scale).astype(np.float16)
    return int(true.sum()), int(lost.sum()), int((scaled != 0).sum())
