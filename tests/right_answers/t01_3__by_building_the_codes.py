from math import ldexp


def limits(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    last = 2 ** (e + m) - 1
    if fmt.has_infinity:
        last -= 2**m
    elif fmt.has_nan:
        last -= 1

    def value(code):
        _, exponent, significand = split(code, fmt)
        implicit = 2**m if exponent else 0
        return ldexp(significand + implicit, max(exponent, 1) - (2 ** (e - 1) - 1) - m)

    return value(last), value(2**m), value(1)
