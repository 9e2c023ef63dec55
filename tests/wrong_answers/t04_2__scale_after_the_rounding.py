# message: after the rounding it is too late to scale
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values)
    stored = np.where(magnitudes <= fmt.smallest / 2, 0.0, magnitudes) * scale
    return np.mean((stored == 0) & (values != 0))
