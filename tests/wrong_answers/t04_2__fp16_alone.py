# message: that is the limit of FP16
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) * scale
    return np.mean((magnitudes != 0) & (magnitudes <= 2.0**-25))
