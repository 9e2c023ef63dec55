# message: 0 times the scale is 0
def sort_zeros(half, single, scale):
    lost, true = (half == 0) & (single != 0), (half == 0) & (single == 0)
    scaled = half * scale
    return int(true.sum()), int(lost.sum()), int((lost & (scaled != 0)).sum())
