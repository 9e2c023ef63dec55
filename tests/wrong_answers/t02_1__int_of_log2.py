# message: int() rounds log2 towards zero
def ulp(x, fmt):
    exponent = int(math.log2(abs(x))) if x else fmt.emin
    return 2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits)
