# message: the kind decides how to round
def scale_for(amax, largest, margin=0):
    """Return the largest power of two with which amax fits."""
    if not 0 < amax < math.inf:
        return 1.0
    fraction, exponent = math.frexp(amax)
    top, limit = math.frexp(largest)
    return 2.0 ** (limit - exponent - (fraction > top) - margin)


def round_trip(x, kind):
    """Return x after the way through FP8 and back."""
    scale = scale_for(float(np.abs(x).max()), LARGEST[kind])
    return to_fp8(x * np.float32(scale), "e4m3") / np.float32(scale)
