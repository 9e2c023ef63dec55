# message: 65505 is no overflow
def received(g, scale):
    stored = float(np.float16(g * scale)) if abs(g * scale) <= 65504 else math.copysign(math.inf, g)
    size = abs(stored)
    if size == 0:
        return stored / scale, "zero"
    if size == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if size >= 2.0**-14 else "coarse"
