def doublings_left(values, fmt):
    limit = Fraction(fmt.largest) + Fraction(2) ** (-fmt.emin - fmt.significand_bits)
    ratio = limit / Fraction(float(np.abs(values).max()))
    k = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    while Fraction(2) ** k >= ratio:
        k -= 1
    while Fraction(2) ** (k + 1) < ratio:
        k += 1
    return k
