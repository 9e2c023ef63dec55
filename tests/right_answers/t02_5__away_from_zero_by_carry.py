def stochastic_round(x, fmt, u):
    """Cut the size after adding u of a gap, as hardware does with random bits."""
    exponent = max(math.frexp(x)[1] - 1, fmt.emin) if x else fmt.emin
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    return math.copysign(math.floor(abs(x) / quantum + u) * quantum, x)
