# message: that is the share of the values that are not 0
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) * scale
    flushed = (magnitudes != 0) & (magnitudes <= fmt.smallest / 2)
    return flushed.sum() / np.count_nonzero(values)
