import numpy as np


def finite_values(fmt):
    e, m = fmt.exponent_bits, fmt.significand_bits
    code = np.arange(2 ** (e + m))
    exponent, significand = code >> m, code & (2**m - 1)
    integer = significand + np.where(exponent > 0, 2**m, 0)
    value = np.ldexp(integer.astype(float), np.maximum(exponent, 1) - (2 ** (e - 1) - 1) - m)
    if fmt.has_infinity:
        value = value[: -(2**m)]
    elif fmt.has_nan:
        value = value[:-1]
    return np.unique(np.concatenate([-value, value])).tolist()
