# message: -1**sign is -(1**sign)
def decode(code, fmt):
    sign, exponent, significand = split(code, fmt)
    m = fmt.significand_bits
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    top = exponent == 2**fmt.exponent_bits - 1
    if top and fmt.has_infinity:
        magnitude = nan if significand else inf
    elif top and fmt.has_nan and significand == 2**m - 1:
        magnitude = nan
    elif exponent == 0:
        magnitude = 2.0 ** (1 - bias) * significand / 2**m
    else:
        magnitude = 2.0 ** (exponent - bias) * (1 + significand / 2**m)
    return -1**sign * magnitude
