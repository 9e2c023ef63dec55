def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) < limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    return min(math.ldexp(1.0, doublings_left(layer, fmt) - free) for layer in step.gradients)
