# message: a float32 on the way rounds twice
def flushed_share(values, fmt, scale):
    magnitudes = np.float32(np.abs(values) * scale)
    return np.mean((magnitudes != 0) & (magnitudes <= fmt.smallest / 2))
