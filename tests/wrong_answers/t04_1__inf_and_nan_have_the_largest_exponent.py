# message: inf or NaN ended in a bin
def count_exponents(values):
    counts = {}
    for value in values[values != 0]:
        exponent = math.frexp(value)[1] - 1 if math.isfinite(value) else 1024
        counts[exponent] = counts.get(exponent, 0) + 1
    return counts, int((values == 0).sum())
