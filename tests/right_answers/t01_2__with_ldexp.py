from math import copysign, ldexp


def decode(code, fmt):
    sign, exponent, significand = split(code, fmt)
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_infinity:
            return copysign(nan if significand else inf, -sign)
        if fmt.has_nan and significand == 2**fmt.significand_bits - 1:
            return nan
    if exponent:
        significand |= 1 << fmt.significand_bits
        exponent -= 1
    lowest = 2 - 2 ** (fmt.exponent_bits - 1) - fmt.significand_bits
    return copysign(ldexp(significand, exponent + lowest), 0.5 - sign)
