# message: one u too many goes up
def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    return (math.floor(count) + (u <= count % 1)) * quantum
