def encode(x, fmt):
    """Use what the lesson showed, without an import of one's own."""
    k, m = fmt.exponent_bits, fmt.significand_bits
    bias = 2 ** (k - 1) - 1
    sign = 2 ** (k + m) if math.copysign(1, x) < 0 else 0
    if x == 0:
        return sign
    exponent = max(math.frexp(x)[1] - 1, 1 - bias)
    count = round(Fraction(abs(x)) / Fraction(2) ** (exponent - m))
    if count == 2 ** (m + 1):
        count, exponent = 2**m, exponent + 1
    if exponent > bias:
        return sign + (2**k - 1) * 2**m
    if count < 2**m:
        return sign + count
    return sign + (exponent + bias) * 2**m + count - 2**m
