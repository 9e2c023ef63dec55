def scale_for(amax, largest, margin=0):
    if math.isnan(amax) or math.isinf(amax) or amax == 0:
        return 1.0
    scale = 1.0
    while amax * scale > largest:
        scale /= 2
    while amax * scale * 2 <= largest:
        scale *= 2
    return math.ldexp(scale, -margin)


def round_trip(x, kind):
    amax = max(-x.min(), x.max())
    scale = scale_for(float(amax), LARGEST[kind])
    return np.array([to_fp8(v * scale, kind) / scale for v in x.astype(float)], np.float32)
