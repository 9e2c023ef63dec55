from fractions import Fraction


def decode(code, fmt):
    sign, exponent, significand = split(code, fmt)
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    all_ones = exponent == 2**fmt.exponent_bits - 1
    if all_ones and fmt.has_infinity and significand == 0:
        return -inf if sign else inf
    if all_ones and fmt.has_infinity:
        return nan
    if all_ones and fmt.has_nan and significand == 2**fmt.significand_bits - 1:
        return nan
    exact = Fraction(significand, 2**fmt.significand_bits)
    if exponent > 0:
        exact = (1 + exact) * Fraction(2) ** (exponent - bias)
    else:
        exact = exact * Fraction(2) ** (1 - bias)
    return float(exact) * (-1.0 if sign else 1.0)
