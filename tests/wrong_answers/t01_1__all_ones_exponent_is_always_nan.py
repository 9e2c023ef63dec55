# message: all ones in E alone make no NaN
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 2**fmt.exponent_bits - 1:
        return "nan"
    if exponent == 0:
        return "subnormal" if significand else "zero"
    return "normal"
