from bisect import bisect_left, bisect_right


def mxfp4(block):
    amax = max(map(abs, block))
    code = 0
    if amax > 0:
        code = min(max(math.frexp(amax)[1] + 124, 0), 254)
    scale = math.ldexp(1.0, code - 127)
    codes = []
    for x in block:
        size = abs(x) / scale
        # Ties below odd codes stay below, ties below even codes go up.
        up = sum(size > t for t in (0.25, 1.25, 2.5, 5.0)) + sum(size >= t for t in (0.75, 1.75, 3.5))
        codes.append(up | (8 if math.copysign(1, x) < 0 else 0))
    return code, codes
