def flushed_share(values, fmt, scale):
    units = np.abs(values) * scale / fmt.smallest
    flushed = np.count_nonzero(values) - np.count_nonzero(np.rint(units))
    return flushed / values.size
