def block_sum(a, b, c, F):
    terms = {}
    for k, (x, y) in enumerate(zip(a, b)):
        if x and y:
            terms[k] = Fraction(x) * Fraction(y), exponent(x, -14) + exponent(y, -14)
    if c:
        terms["C"] = Fraction(c), exponent(c, -126)
    if not terms:
        return 0.0
    unit = Fraction(2) ** (max(e for _, e in terms.values()) - F)
    total = sum(int(term / unit) * unit for term, _ in terms.values())
    ulp = Fraction(1, 2**149)
    while abs(total) >= ulp * 2**24:
        ulp *= 2
    return float(int(total / ulp) * ulp)
