# message: eps is the ulp of the numbers from 1 up to 2 only
def ulp(x, fmt):
    return 2.0**-fmt.significand_bits
