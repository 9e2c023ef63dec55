# message: int() goes towards zero
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    ratio = Fraction(limit) / Fraction(np.max(np.abs(values)))
    exact = math.log2(ratio)
    return int(exact) - (exact > 0 and 2 ** Fraction(int(exact)) == ratio)
