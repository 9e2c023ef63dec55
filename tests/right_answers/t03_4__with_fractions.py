def to_tf32(x, rounded=False):
    if x == 0 or not math.isfinite(x):
        return x
    unit = Fraction(2) ** (exponent(x, -126) - 10)
    count = abs(Fraction(x)) / unit
    whole = math.floor(count + Fraction(1, 2)) if rounded else math.floor(count)
    return math.copysign(float(whole * unit), x)
