from fractions import Fraction
from math import copysign


def encode(x, fmt):
    """Codes are in the order of their values: search them, then settle for the nearer one."""
    e, m = fmt.exponent_bits, fmt.significand_bits
    infinity = (2**e - 1) << m

    def value(code):
        _, exponent, significand = split(code, fmt)
        integer = significand + (2**m if exponent else 0)
        return Fraction(2) ** (max(exponent, 1) - (2 ** (e - 1) - 1) - m) * integer

    sign = 2 ** (e + m) if copysign(1, x) < 0 else 0
    size = abs(Fraction(x))
    low, high = 0, infinity
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= size else (low, middle)
    middle = (value(low) + value(high)) / 2
    return sign + (high if size > middle or (size == middle and low % 2) else low)
