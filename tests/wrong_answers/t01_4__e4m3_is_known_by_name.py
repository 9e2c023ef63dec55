# message: E4M3 is one case of a rule
def finite_values(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    bias, top = 2 ** (e - 1) - 1, 2**e - 1
    values = set()
    for code in range(2 ** (1 + e + m)):
        sign, exponent, significand = split(code, fmt)
        if fmt == E4M3 and code % 128 == 127:
            continue
        if exponent == top and fmt.has_nan and fmt != E4M3:
            continue
        value = (significand + (2**m if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - m)
        values.add(-value if sign else value)
    return sorted(values)
