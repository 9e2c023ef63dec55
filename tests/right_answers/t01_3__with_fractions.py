from fractions import Fraction


def limits(fmt):
    two, p = Fraction(2), fmt.significand_bits + 1
    emax = 2 ** (fmt.exponent_bits - 1) - 1
    emin = 1 - emax
    beyond = two ** (emax + 1) if fmt.has_infinity else two ** (emax + 2)
    step = beyond / two**p
    largest = beyond - step
    if fmt.has_nan and not fmt.has_infinity:
        largest -= step
    return float(largest), float(two**emin), float(two ** (emin - p + 1))
