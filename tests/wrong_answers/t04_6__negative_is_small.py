# message: a negative gradient is not small
def received(g, scale):
    stored = float(np.float16(g * scale))
    if stored == 0:
        return stored / scale, "zero"
    if abs(stored) == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if stored >= 2.0**-14 else "coarse"
