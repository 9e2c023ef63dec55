# message: frexp counts from 0.5
def ulp(x, fmt):
    exponent = math.frexp(x)[1] if x else fmt.emin
    return 2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits)
