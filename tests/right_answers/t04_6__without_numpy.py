def received(g, scale):
    x, sign = abs(g * scale), math.copysign(1.0, g)
    if x >= 65520:
        return sign * math.inf, "inf"
    unit = 2.0 ** (max(math.frexp(x)[1] - 1, -14) - 10)
    stored = round(x / unit) * unit
    kind = "zero" if not stored else "coarse" if stored < 2.0**-14 else "full"
    return sign * stored / scale, kind
