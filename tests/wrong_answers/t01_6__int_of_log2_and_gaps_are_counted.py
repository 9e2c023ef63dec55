# message: int() rounds log2 towards zero
from math import copysign, log2


def encode(x, fmt):
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1) - 1
    infinity = (2**fmt.exponent_bits - 1) << m
    sign = (copysign(1, x) < 0) << (fmt.exponent_bits + m)
    x = abs(x)
    if x == 0:
        return sign
    exponent = max(int(log2(x)), 1 - bias)
    count = round(x / 2.0 ** (exponent - m))
    if count < 2**m:
        return sign | count
    code = count - 2**m + ((exponent + bias) << m)
    return sign | min(code, infinity)
