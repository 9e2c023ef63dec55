def mxfp4(block):
    amax = max(abs(x) for x in block)
    code = max(0, min(254, math.frexp(amax)[1] - 3 + 127)) if amax else 0
    codes = []
    for x in block:
        a = abs(x) / 2.0 ** (code - 127)
        # The nearest of the eight: what lies above 6 finds 6 without being clamped.
        place = min(range(8), key=lambda i: (abs(E2M1[i] - a), i % 2))
        codes.append(place + 8 if math.copysign(1, x) < 0 else place)
    return [code, np.array(codes)]
