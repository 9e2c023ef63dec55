def cut(x, precision):
    if x == 0:
        return x
    unit = Fraction(1)
    while abs(x) < unit * 2 ** (precision - 1):
        unit /= 2
    while abs(x) >= unit * 2**precision:
        unit *= 2
    return int(x / unit) * unit


def sum_error(products, precision, every=None):
    size = every or len(products)
    total = Fraction(0)
    for start in range(0, len(products), size):
        partial = Fraction(0)
        for product in products[start : start + size]:
            partial = cut(partial + Fraction(product), precision)
        total = Fraction(fp32(float(total + partial)))
    exact = sum(map(Fraction, products))
    ulp = Fraction(1)
    while abs(exact) < ulp * 2 ** (precision - 1):
        ulp /= 2
    while abs(exact) >= ulp * 2**precision:
        ulp *= 2
    return (total - exact) / ulp
