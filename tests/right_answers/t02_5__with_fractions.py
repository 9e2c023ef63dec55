def stochastic_round(x, fmt, u):
    gap = Fraction(2) ** (fmt.emin - fmt.significand_bits)
    while abs(Fraction(x)) >= gap * 2 ** (fmt.significand_bits + 1):
        gap *= 2
    below, rest = divmod(Fraction(x), gap)
    up = Fraction(u) >= 1 - rest / gap
    return float((below + 1 if up else below) * gap)
