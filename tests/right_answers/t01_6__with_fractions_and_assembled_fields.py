from fractions import Fraction
from math import copysign


def encode(x, fmt):
    k, m = fmt.exponent_bits, fmt.significand_bits
    bias = 2 ** (k - 1) - 1
    sign = int(copysign(1, x) < 0)
    exact = abs(Fraction(x))
    exponent = 1 - bias
    while exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    field = round(exact / Fraction(2) ** (exponent - m))
    if field == 2 ** (m + 1):
        field, exponent = 2**m, exponent + 1
    if exponent > bias:
        biased, field = 2**k - 1, 0
    elif field < 2**m:
        biased = 0
    else:
        biased, field = exponent + bias, field - 2**m
    return sign << (k + m) | biased << m | field
