# message: 16 bits are too few
def sum_error(products, precision, every=None):
    def ulp(x):
        return 2.0 ** (exponent(x, -126) - precision + 1)

    total = partial = 0.0
    for count, product in enumerate(products, 1):
        partial += product
        if partial:
            partial = math.trunc(partial / ulp(partial)) * ulp(partial)
        if count == len(products) or (every and count % every == 0):
            total += partial
            if total:
                unit = 2.0 ** (exponent(total, -126) - 15)
                total = math.trunc(total / unit) * unit
            partial = 0.0
    exact = math.fsum(products)
    return (total - exact) / ulp(exact)
