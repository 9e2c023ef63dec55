def stochastic_round(x, fmt, u):
    exponent = np.maximum(np.frexp(x)[1] - 1, fmt.emin) if x else fmt.emin
    count = np.ldexp(x, fmt.significand_bits - int(exponent))
    return np.ldexp(np.floor(count + u), int(exponent) - fmt.significand_bits)
