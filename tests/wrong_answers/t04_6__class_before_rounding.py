# message: what rounds up to 2^-14 is normal
def received(g, scale):
    stored = float(np.float16(g * scale))
    size = abs(stored)
    if size == 0:
        return stored / scale, "zero"
    if size == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if abs(g * scale) >= 2.0**-14 else "coarse"
