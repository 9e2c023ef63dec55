# message: E4M3 has no infinity
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        return "nan" if significand else "infinity"
    return "normal"
