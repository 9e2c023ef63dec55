# message: eps times x grows
def ulp(x, fmt):
    smallest = 2.0 ** (fmt.emin - fmt.significand_bits)
    return max(abs(x) * 2.0**-fmt.significand_bits, smallest)
