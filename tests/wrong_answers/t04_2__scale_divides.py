# message: the scale multiplies
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) / scale
    return np.mean((magnitudes != 0) & (magnitudes <= fmt.smallest / 2))
