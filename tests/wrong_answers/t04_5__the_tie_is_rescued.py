# message: is the tie, and goes to 0 again
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = np.abs(single) * scale >= 2.0**-25
    return int(true.sum()), int(lost.sum()), int((lost & (scaled != 0)).sum())
