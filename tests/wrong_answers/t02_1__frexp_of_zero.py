# message: frexp says n = 0 of 0
def ulp(x, fmt):
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    return 2.0 ** (exponent - fmt.significand_bits)
