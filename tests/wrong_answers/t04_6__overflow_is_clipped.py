# message: FP16 does not stop at its largest number
def received(g, scale):
    stored = float(np.float16(min(max(g * scale, -65504.0), 65504.0)))
    size = abs(stored)
    if size == 0:
        return stored / scale, "zero"
    if size == math.inf:
        return stored / scale, "inf"
    return stored / scale, "full" if size >= 2.0**-14 else "coarse"
