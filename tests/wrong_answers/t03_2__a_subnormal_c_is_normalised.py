# message: a subnormal C counts
def block_sum(a, b, c, F):
    terms = [(x * y, exponent(x, -14) + exponent(y, -14)) for x, y in zip(a, b) if x * y]
    if c:
        terms.append((c, exponent(c, -999)))
    if not terms:
        return 0.0
    quantum = 2.0 ** (max(e for _, e in terms) - F)
    total = sum(math.trunc(term / quantum) for term, _ in terms) * quantum
    if not total:
        return 0.0
    ulp = 2.0 ** (exponent(total, -126) - 23)
    return math.trunc(total / ulp) * ulp
