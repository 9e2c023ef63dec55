# message: above 2^-25 it rounds up to 2^-24
def received(g, scale):
    stored = float(np.float16(g * scale)) if abs(g * scale) >= 2.0**-24 else 0.0 * g
    size = abs(stored)
    if size == 0:
        return stored / scale, "zero"
    if size == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if size >= 2.0**-14 else "coarse"
