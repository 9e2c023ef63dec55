# message: E4M3 is one case of a rule
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if fmt == E4M3:
        return "nan" if code & 0x7F == 0x7F else "normal"
    if exponent == 2**fmt.exponent_bits - 1 and fmt.has_nan:
        return "nan" if significand else "infinity"
    return "normal"
