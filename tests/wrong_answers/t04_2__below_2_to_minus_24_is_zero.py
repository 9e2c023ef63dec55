# message: not all below the smallest number is lost
def flushed_share(values, fmt, scale):
    magnitudes = np.abs(values) * scale
    return np.mean((magnitudes != 0) & (magnitudes < fmt.smallest))
