# message: that is the ulp of FP16
def ulp(x, fmt):
    exponent = math.frexp(x)[1] - 1 if x else -14
    return 2.0 ** (max(exponent, -14) - 10)
