def classify(code, fmt):
    width = 1 + fmt.exponent_bits + fmt.significand_bits
    bits = format(code, f"0{width}b")
    exponent, significand = bits[1 : 1 + fmt.exponent_bits], bits[1 + fmt.exponent_bits :]
    if "1" not in exponent:
        return "subnormal" if "1" in significand else "zero"
    if "0" in exponent:
        return "normal"
    match fmt.has_infinity, fmt.has_nan:
        case True, _:
            return "nan" if "1" in significand else "infinity"
        case False, True:
            return "normal" if "0" in significand else "nan"
        case _:
            return "normal"
