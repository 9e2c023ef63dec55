def ulp(x, fmt):
    of_the_double = math.ulp(max(abs(x), 2.0**fmt.emin))
    return of_the_double * 2.0 ** (52 - fmt.significand_bits)
