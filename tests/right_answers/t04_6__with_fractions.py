def received(g, scale):
    x = Fraction(g) * Fraction(scale)
    if abs(x) >= 65520:
        return math.copysign(math.inf, g), "inf"
    e = -24
    while abs(x) >= Fraction(2) ** (e + 11):
        e += 1
    stored = round(x / Fraction(2) ** e) * Fraction(2) ** e
    kind = "zero" if not stored else "full" if abs(stored) >= Fraction(1, 2**14) else "coarse"
    return float(stored / Fraction(scale)), kind
