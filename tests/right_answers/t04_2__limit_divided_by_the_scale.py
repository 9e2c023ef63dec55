def flushed_share(values, fmt, scale):
    limit = fmt.smallest / 2 / scale
    small = [x for x in values.tolist() if x and -limit <= x <= limit]
    return len(small) / len(values)
