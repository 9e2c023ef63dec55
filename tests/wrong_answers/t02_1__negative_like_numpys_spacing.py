# message: a distance is positive
def ulp(x, fmt):
    exponent = math.frexp(x)[1] - 1 if x else fmt.emin
    return math.copysign(2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits), x)
