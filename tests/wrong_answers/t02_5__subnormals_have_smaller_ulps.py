# message: subnormals have no smaller ulp
def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = math.frexp(x)[1] - 1
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    return (math.floor(count) + (u < count % 1)) * quantum
