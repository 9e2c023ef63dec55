import numpy as np


def block_sum(a, b, c, F):
    a, b = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    products = np.append(a * b, c)
    exponents = np.maximum(np.frexp(a)[1], -13) + np.maximum(np.frexp(b)[1], -13) - 2
    exponents = np.append(exponents, max(np.frexp(c)[1] - 1, -126))
    if not products.any():
        return 0.0
    unit = 2.0 ** float(exponents[products != 0].max() - F)
    total = np.trunc(products / unit).sum() * unit
    near = np.float32(total)
    if abs(np.float64(near)) > abs(total):
        near = np.nextafter(near, np.float32(0))
    return float(near)
