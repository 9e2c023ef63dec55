# message: E2M1 has no NaN
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_infinity:
            return "nan" if significand else "infinity"
        if significand == 2**fmt.significand_bits - 1:
            return "nan"
    return "normal"
