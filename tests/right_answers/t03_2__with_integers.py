def block_sum(a, b, c, F):
    def split(x, lowest, precision):
        e = exponent(x, lowest)
        return int(x * 2.0 ** (precision - 1 - e)), e

    terms = []
    for x, y in zip(a, b):
        if x != 0 and y != 0:
            (m, e), (n, f) = split(x, -14, 11), split(y, -14, 11)
            terms.append((m * n, e + f, 20))
    if c != 0:
        terms.append((int(Fraction(c) * 2**149), exponent(c, -126), 149 + exponent(c, -126)))
    if not terms:
        return 0.0
    top = max(e for _, e, _ in terms)
    total = 0
    for integer, e, point in terms:
        shift = e - point - (top - F)
        size = abs(integer)
        size = size << shift if shift >= 0 else size >> -shift
        total += size if integer > 0 else -size
    size, unit = abs(total), top - F
    while size >= 2**24:
        size, unit = size >> 1, unit + 1
    return math.copysign(math.ldexp(size, unit), total)
