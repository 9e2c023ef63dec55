import struct


def decode(code, fmt):
    """Move the fields to their places in a float64; subnormals get theirs by subtraction."""
    sign, exponent, significand = split(code, fmt)
    top, m = 2**fmt.exponent_bits - 1, fmt.significand_bits
    if exponent == top and not fmt.has_infinity and fmt.has_nan and significand == 2**m - 1:
        return nan
    rebias = 1023 - (2 ** (fmt.exponent_bits - 1) - 1)
    wide = exponent + rebias
    if exponent == top and fmt.has_infinity:
        wide = 2047
    if exponent == 0:
        wide += 1
    bits = wide << 52 | significand << (52 - m)
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if exponent == 0:
        value -= 2.0 ** (wide - 1023)
    return -value if sign else value
