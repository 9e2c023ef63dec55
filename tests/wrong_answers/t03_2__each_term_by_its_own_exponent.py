# message: not each term's own
def block_sum(a, b, c, F):
    def cut(x, unit):
        return math.trunc(x / unit) * unit

    terms = [(x * y, exponent(x, -14) + exponent(y, -14)) for x, y in zip(a, b) if x * y]
    if c:
        terms.append((c, exponent(c, -126)))
    total = sum(Fraction(cut(term, 2.0 ** (e - F))) for term, e in terms)
    if not total:
        return 0.0
    unit = Fraction(2) ** (exponent(float(total), -126) - 23)
    return float(int(total / unit) * unit)
