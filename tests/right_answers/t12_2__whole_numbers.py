def scale_for(amax, largest, margin=0):
    if not 0 < amax < math.inf:
        return 1
    n = math.floor(math.log2(largest / amax)) + 1
    while amax * 2.0**n > largest:
        n -= 1
    n -= margin
    return 2**n  # an int from 1 on


def round_trip(x, kind):
    s = scale_for(np.abs(x).max(), LARGEST[kind])
    return (to_fp8(x.astype(np.float64) * s, kind) / s).astype(np.float32)
