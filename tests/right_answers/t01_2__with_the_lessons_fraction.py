def decode(code, fmt):
    """Use what the lesson showed, without an import of one's own."""
    sign, exponent, significand = split(code, fmt)
    k, m = fmt.exponent_bits, fmt.significand_bits
    if exponent == 2**k - 1 and fmt.has_nan:
        if significand == 2**m - 1 or (fmt.has_infinity and significand):
            return math.nan
        if fmt.has_infinity:
            return -math.inf if sign else math.inf
    held = Fraction(2) ** (max(exponent, 1) - (2 ** (k - 1) - 1)) * (
        (exponent > 0) + Fraction(significand, 2**m)
    )
    return math.copysign(float(held), 0.5 - sign)
