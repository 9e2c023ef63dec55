def flushed_share(values, fmt, scale):
    lost = 0
    for value in values:
        scaled = abs(Fraction(float(value))) * Fraction(scale)
        lost += 0 < scaled <= Fraction(fmt.smallest) / 2
    return lost / len(values)
