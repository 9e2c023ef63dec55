def classify(code, fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    magnitude = code & ((1 << (e + m)) - 1)
    infinity = ((1 << e) - 1) << m
    all_ones = (1 << (e + m)) - 1
    if magnitude == 0:
        return "zero"
    if magnitude < 1 << m:
        return "subnormal"
    if fmt.has_infinity and magnitude >= infinity:
        return "infinity" if magnitude == infinity else "nan"
    if not fmt.has_infinity and fmt.has_nan and magnitude == all_ones:
        return "nan"
    return "normal"
