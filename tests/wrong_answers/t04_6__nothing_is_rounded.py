# message: FP16 keeps eleven significant bits
def received(g, scale):
    stored = float(np.float16(g * scale))
    size = abs(stored)
    if size == 0:
        return (g if 0 < abs(stored) < math.inf else stored / scale), "zero"
    if size == math.inf:
        return (g if 0 < abs(stored) < math.inf else stored / scale), "inf"
    return (
        g if 0 < abs(stored) < math.inf else stored / scale
    ), "full" if size >= 2.0**-14 else "coarse"
