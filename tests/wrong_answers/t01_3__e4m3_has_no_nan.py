# message: all bits set is E4M3's NaN
def limits(fmt):
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    m = fmt.significand_bits
    emax = 2**fmt.exponent_bits - 1 - bias
    largest = 2.0**emax * (2 - 2.0**-m)
    if fmt.has_infinity:
        largest = 2.0 ** (emax - 1) * (2 - 2.0**-m)
    elif fmt.has_nan:
        largest = largest
    smallest_normal = 2.0 ** (1 - bias)
    return largest, smallest_normal, 2.0 ** (1 - bias - m)
