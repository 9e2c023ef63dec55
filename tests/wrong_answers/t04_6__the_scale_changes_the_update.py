# message: the scale must not reach the optimizer
def received(g, scale):
    stored = float(np.float16(g * scale))
    size = abs(stored)
    if size == 0:
        return stored, "zero"
    if size == math.inf:
        return stored, "inf"
    return stored, "full" if size >= 2.0**-14 else "coarse"
