# message: 2^emax is only its power of two
def limits(fmt):
    bias = 2 ** (fmt.exponent_bits - 1) - 1
    emax = bias if fmt.has_infinity else bias + 1
    return 2.0**emax, 2.0 ** (1 - bias), 2.0 ** (1 - bias - fmt.significand_bits)
