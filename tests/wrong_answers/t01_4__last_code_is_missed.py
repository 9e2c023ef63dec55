# message: one value is missing: did the loop reach the very last code?
def finite_values(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    bias, top = 2 ** (e - 1) - 1, 2**e - 1
    values = set()
    for code in range(2 ** (1 + e + m) - 1):
        sign, exponent, significand = split(code, fmt)
        if exponent == top and fmt.has_infinity:
            continue
        if exponent == top and not fmt.has_infinity and fmt.has_nan and significand == 2**m - 1:
            continue
        value = (significand + (2**m if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - m)
        values.add(-value if sign else value)
    return sorted(values)
