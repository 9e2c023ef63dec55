# message: the same u gave two results
import random

chance = random.Random(7)


def stochastic_round(x, fmt, u):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    below = math.floor(count)
    if count == below:
        return x
    return (below + (chance.random() < count - below)) * quantum
