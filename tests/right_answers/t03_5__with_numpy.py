import numpy as np


def cut(x, precision):
    significand, power = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(significand, precision)), power - precision)


def sum_error(products, precision, every=None):
    values = np.array(products, dtype=np.float64)
    groups = np.split(values, range(every, len(values), every)) if every else [values]
    total = np.float32(0)
    for group in groups:
        partial = np.float64(0)
        for product in group:
            partial = cut(partial + product, precision)
        total = np.float32(np.float64(total) + partial)
    exact = values.sum()
    return float((np.float64(total) - exact) / np.ldexp(1.0, np.frexp(exact)[1] - precision))
