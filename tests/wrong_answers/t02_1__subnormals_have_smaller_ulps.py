# message: subnormals have no smaller ulp
def ulp(x, fmt):
    if x == 0:
        return 2.0 ** (fmt.emin - fmt.significand_bits)
    return 2.0 ** (math.frexp(x)[1] - 1 - fmt.significand_bits)
