# message: small numbers are flushed
def scale_for(amax, largest, margin=0):
    """Return the largest power of two with which amax fits."""
    if not 0 < amax < math.inf:
        return 1.0
    fraction, exponent = math.frexp(amax)
    top, limit = math.frexp(largest)
    return 2.0 ** (limit - exponent - (fraction > top) - margin)


def round_trip(x, kind):
    """Return x after the way through FP8 and back."""
    scale = 1.0
    return to_fp8(x * np.float32(scale), kind) / np.float32(scale)
