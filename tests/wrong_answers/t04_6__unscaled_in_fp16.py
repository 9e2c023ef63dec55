# message: divided in FP16 it is 0 again
def received(g, scale):
    stored = np.float16(g * scale)
    size = abs(stored)
    if size == 0:
        return float(stored / np.float16(scale)) if scale < 65536 else float(
            np.float16(float(stored) / scale)
        ), "zero"
    if size == math.inf:
        return float(stored / np.float16(scale)) if scale < 65536 else float(
            np.float16(float(stored) / scale)
        ), "inf"
    return float(stored / np.float16(scale)) if scale < 65536 else float(
        np.float16(float(stored) / scale)
    ), "full" if size >= 2.0**-14 else "coarse"
