from math import ldexp


def finite_values(fmt):
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1) - 1
    emax = bias if fmt.has_infinity else bias + 1
    values = [ldexp(f, 1 - bias - m) for f in range(1, 2**m)]
    for exponent in range(1 - bias, emax + 1):
        values += [ldexp(2**m + f, exponent - m) for f in range(2**m)]
    if fmt.has_nan and not fmt.has_infinity:
        values.pop()
    return sorted([-v for v in values] + [-0.0] + values)
