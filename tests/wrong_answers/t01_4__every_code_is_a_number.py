# message: some codes are no numbers at all
def finite_values(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    bias = 2 ** (e - 1) - 1
    values = []
    for code in range(2 ** (1 + e + m)):
        sign, exponent, significand = split(code, fmt)
        value = (significand + (2**m if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - m)
        values.append(-value if sign else value)
    return sorted(values)
