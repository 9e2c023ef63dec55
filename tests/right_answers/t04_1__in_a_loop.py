def count_exponents(values):
    counts, zeros = {}, 0
    for value in values.tolist():
        if value == 0:
            zeros += 1
        elif math.isfinite(value):
            exponent = math.frexp(abs(value))[1] - 1
            counts[exponent] = counts.get(exponent, 0) + 1
    return counts, zeros
