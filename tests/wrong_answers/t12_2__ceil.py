# message: largest has to fit
def scale_for(amax, largest, margin=0):
    """Return the largest power of two with which amax fits."""
    if not 0 < amax < math.inf:
        return 1.0
    return 2.0 ** (math.ceil(math.log2(largest / amax)) - margin)


def round_trip(x, kind):
    """Return x after the way through FP8 and back."""
    scale = scale_for(float(np.abs(x).max()), LARGEST[kind])
    return to_fp8(x * np.float32(scale), kind) / np.float32(scale)
