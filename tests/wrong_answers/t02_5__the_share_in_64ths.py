# message: not a multiple of 1/64 only
def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    below = math.floor(x / quantum)
    share = x / quantum - below
    return (below + (math.floor(u * 64) < math.floor(share * 64))) * quantum
