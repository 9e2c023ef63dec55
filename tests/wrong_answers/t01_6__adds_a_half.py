# message: adding 0.5 is itself rounded
from math import copysign, floor, frexp


def encode(x, fmt):
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1) - 1
    infinity = (2**fmt.exponent_bits - 1) << m
    sign = (copysign(1, x) < 0) << (fmt.exponent_bits + m)
    x = abs(x)
    if x == 0:
        return sign
    exponent = max(frexp(x)[1] - 1, 1 - bias)
    scaled = x / 2.0 ** (exponent - m)
    count = floor(scaled + 0.5)
    if count - scaled == 0.5:
        count -= count % 2
    code = count + ((exponent + bias - 1) << m)
    return sign | min(code, infinity)
