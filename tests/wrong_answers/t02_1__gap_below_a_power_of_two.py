# message: twice as far as the next smaller
def ulp(x, fmt):
    fraction, n = math.frexp(x)
    exponent = n - 2 if abs(fraction) == 0.5 else n - 1
    exponent = exponent if x else fmt.emin
    return 2.0 ** (max(exponent, fmt.emin) - fmt.significand_bits)
