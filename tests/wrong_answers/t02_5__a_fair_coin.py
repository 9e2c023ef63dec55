# message: a fair coin is right on average only
def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    if count == math.floor(count):
        return x
    return (math.floor(count) + (u < 0.5)) * quantum
