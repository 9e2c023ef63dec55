def count_exponents(values):
    counts = {}
    for value in values:
        if math.isfinite(value) and value:
            top, bottom = abs(Fraction(float(value))).as_integer_ratio()
            exponent = top.bit_length() - bottom.bit_length()
            counts[exponent] = counts.get(exponent, 0) + 1
    return counts, len(values) - np.count_nonzero(values)
