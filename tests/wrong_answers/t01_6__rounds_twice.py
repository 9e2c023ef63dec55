# message: rounded twice
import struct
from math import copysign, frexp


def encode(x, fmt):
    m, bias = fmt.significand_bits, 2 ** (fmt.exponent_bits - 1) - 1
    infinity = (2**fmt.exponent_bits - 1) << m
    sign = (copysign(1, x) < 0) << (fmt.exponent_bits + m)
    if abs(x) < 3.4e38:
        x = struct.unpack("<f", struct.pack("<f", x))[0]
    if x == 0:
        return sign
    exponent = max(frexp(x)[1] - 1, 1 - bias)
    count = round(abs(x) / 2.0 ** (exponent - m))
    return sign | min(count + ((exponent + bias - 1) << m), infinity)
