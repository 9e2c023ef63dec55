def ulp(x, fmt):
    size, exponent = Fraction(abs(x)), fmt.emin
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    return Fraction(2) ** (exponent - fmt.significand_bits)
