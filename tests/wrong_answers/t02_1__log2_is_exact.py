# message: just below a power of two log2 rounds up
def ulp(x, fmt):
    exponent = math.floor(math.log2(abs(x))) if x else fmt.emin
    return 2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits)
