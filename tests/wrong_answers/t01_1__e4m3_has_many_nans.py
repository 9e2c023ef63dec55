# message: only the code of all ones is E4M3's NaN
def classify(code, fmt):
    _, exponent, significand = split(code, fmt)
    if exponent == 0:
        return "subnormal" if significand else "zero"
    if exponent == 2**fmt.exponent_bits - 1 and fmt.has_nan:
        if significand:
            return "nan"
        return "infinity" if fmt.has_infinity else "normal"
    return "normal"
