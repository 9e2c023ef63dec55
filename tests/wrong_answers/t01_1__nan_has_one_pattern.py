# message: NaN has many patterns
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    all_ones = 2**fmt.significand_bits - 1
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1:
        if fmt.has_nan and significand == all_ones:
            return "nan"
        if fmt.has_infinity:
            return "infinity"
    return "normal"
