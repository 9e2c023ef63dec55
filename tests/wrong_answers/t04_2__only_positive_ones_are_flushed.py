# message: small negative gradients are flushed as well
def flushed_share(values, fmt, scale):
    scaled = values * scale
    return np.mean((scaled > 0) & (scaled <= fmt.smallest / 2))
