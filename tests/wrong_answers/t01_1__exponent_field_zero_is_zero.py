# message: E = 0 alone makes no zero
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_infinity:
            return "nan" if significand else "infinity"
        if fmt.has_nan and significand == 2**fmt.significand_bits - 1:
            return "nan"
    return "normal"
