def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    powers = np.arange(-900, 900)
    widest = np.ldexp(np.linalg.norm(np.atleast_1d(values).ravel(), np.inf), powers)
    return int(powers[widest < limit].max())
