import struct


def encode(x, fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    bias = 2 ** (e - 1) - 1
    bits = struct.unpack("<Q", struct.pack("<d", x))[0]
    sign, exponent = bits >> 63, bits >> 52 & 0x7FF
    significand = bits & (2**52 - 1)
    if exponent:
        significand |= 1 << 52
    exponent = max(exponent, 1) - 1023
    emin = 1 - bias
    shift = 52 - m + max(0, emin - exponent)
    kept, rest = significand >> shift, significand & ((1 << shift) - 1)
    half = 1 << (shift - 1) if shift else 0
    if shift and (rest > half or (rest == half and kept & 1)):
        kept += 1
    code = kept + (max(exponent, emin) - emin << m)
    return sign << (e + m) | min(code, (2**e - 1) << m)
