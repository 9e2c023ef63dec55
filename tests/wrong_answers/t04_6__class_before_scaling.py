# message: not at the gradient before scaling
def received(g, scale):
    stored = float(np.float16(g * scale))
    size = abs(float(np.float16(g)))
    if size == 0:
        return stored / scale, "zero"
    if abs(stored) == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if size >= 2.0**-14 else "coarse"
