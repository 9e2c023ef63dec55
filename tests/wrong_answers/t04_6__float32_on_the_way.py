# message: a float32 on the way rounds twice
def received(g, scale):
    stored = float(np.float16(np.float32(g * scale)))
    if stored == 0:
        return 0.0, "zero"
    if abs(stored) == math.inf:
        return stored, "inf"
    return stored / scale, "full" if abs(stored) >= 2.0**-14 else "coarse"
