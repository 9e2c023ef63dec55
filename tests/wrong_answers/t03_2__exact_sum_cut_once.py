# message: nothing was cut before the sum, only at its end
def block_sum(a, b, c, F):
    total = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b)), Fraction(c))
    if not total:
        return 0.0
    size, ulp = abs(total), Fraction(1, 2**149)
    while size >= ulp * 2**24:
        ulp *= 2
    return float(math.trunc(total / ulp) * ulp)
