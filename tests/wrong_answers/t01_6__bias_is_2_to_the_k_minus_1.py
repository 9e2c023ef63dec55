# message: the exponent field is one too high
from math import copysign, frexp


def encode(x, fmt):
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1)
    infinity = (2**fmt.exponent_bits - 1) << m
    sign = (copysign(1, x) < 0) << (fmt.exponent_bits + m)
    x = abs(x)
    if x == 0:
        return sign
    exponent = max(frexp(x)[1] - 1, 1 - bias)
    count = round(x / 2.0 ** (exponent - m))
    code = count + ((exponent + bias - 1) << m)
    return sign | min(code, infinity)
