# message: moves an odd number at u = 0
def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    return round(count + u - 0.5) * quantum
