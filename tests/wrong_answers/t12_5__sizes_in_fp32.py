# message: rounds this size to a tie
def mxfp4(block):
    """Return the scale's code and the elements' codes."""
    amax = max(abs(x) for x in block)
    exponent = math.frexp(amax)[1] - 1 - 2 if amax else -127
    scale_code = min(max(exponent + 127, 0), 254)
    codes = []
    for x in block:
        size = float(np.float32(min(abs(x) / 2.0 ** (scale_code - 127), 6.0)))
        code = min(range(8), key=lambda code: (abs(E2M1[code] - size), code % 2))
        codes.append(code + 8 * (math.copysign(1.0, x) < 0))
    return scale_code, codes
