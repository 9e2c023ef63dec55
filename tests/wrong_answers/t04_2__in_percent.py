# message: not percent
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) * scale
    return 100 * np.mean((magnitudes != 0) & (magnitudes <= fmt.smallest / 2))
