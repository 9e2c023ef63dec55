# message: a zero that was one before
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) * scale
    return np.mean(magnitudes <= fmt.smallest / 2)
