# message: C is cut like any other term
def block_sum(a, b, c, F):
    terms = [(x * y, exponent(x, -14) + exponent(y, -14)) for x, y in zip(a, b) if x * y]
    exponents = [e for _, e in terms] + ([exponent(c, -126)] if c else [])
    if not exponents:
        return 0.0
    quantum = 2.0 ** (max(exponents) - F)
    total = Fraction(c) + sum(math.trunc(term / quantum) for term, _ in terms) * Fraction(quantum)
    if not total:
        return 0.0
    ulp = 2.0 ** (exponent(float(total), -126) - 23)
    return math.trunc(total / Fraction(ulp)) * ulp
