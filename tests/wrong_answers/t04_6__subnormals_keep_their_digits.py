# message: a subnormal number has lost digits
def received(g, scale):
    stored = float(np.float16(g * scale))
    if stored == 0:
        return stored / scale, "zero"
    return stored / scale, "inf" if abs(stored) == math.inf else "full"
