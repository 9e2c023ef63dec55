# message: E4M3 is one case of a rule
def decode(code, fmt):
    sign, exponent, significand = split(code, fmt)
    m = fmt.significand_bits
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    top = exponent == 2**fmt.exponent_bits - 1
    if top and fmt.has_infinity:
        magnitude = nan if significand else inf
    elif fmt == E4M3 and code & 0x7F == 0x7F:
        magnitude = nan
    elif exponent == 0:
        magnitude = 2.0 ** (1 - bias) * significand / 2**m
    else:
        magnitude = 2.0 ** (exponent - bias) * (1 + significand / 2**m)
    return -magnitude if sign else magnitude
