# message: a large negative gradient is not small
def flushed_share(values, fmt, scale):
    scaled = values * scale
    return np.mean((scaled != 0) & (scaled <= fmt.smallest / 2))
