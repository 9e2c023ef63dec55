def largest_lost(w, fmt):
    """Look for the grid's neighbours of w among the multiples of the smallest number."""
    smallest, m = Fraction(2) ** (fmt.emin - fmt.significand_bits), fmt.significand_bits
    above = smallest
    while Fraction(w) >= above * 2 ** (m + 1):
        above *= 2
    count = Fraction(w) / above
    below = above / 2 if count == 2**m and above > smallest else above

    def limit(gap):
        return float(gap / 2) if count % 2 == 0 else math.nextafter(float(gap / 2), 0.0)

    return limit(below), limit(above)


def first_overflow(fmt):
    beyond = Fraction(2) ** (2 - fmt.emin)
    return float((Fraction(fmt.largest) + beyond) / 2)
