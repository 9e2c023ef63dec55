# message: just below a power of two: log2
def mxfp4(block):
    """Return the scale's code and the elements' codes."""
    amax = float(np.abs(np.array(block, np.float32)).max())
    exponent = math.frexp(amax)[1] - 1 - 2 if amax else -127
    scale_code = min(max(exponent + 127, 0), 254)
    codes = []
    for x in block:
        size = min(abs(x) / 2.0 ** (scale_code - 127), 6.0)
        code = min(range(8), key=lambda code: (abs(E2M1[code] - size), code % 2))
        codes.append(code + 8 * (math.copysign(1.0, x) < 0))
    return scale_code, codes
