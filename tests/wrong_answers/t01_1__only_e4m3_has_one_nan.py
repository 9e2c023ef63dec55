# message: E4M3 is one case of a rule
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_infinity:
            return "nan" if significand else "infinity"
        if fmt.exponent_bits == 4 and significand == 7:
            return "nan"
    return "normal"
