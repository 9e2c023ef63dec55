# message: `free` counts doublings
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) < limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    return 2.0 ** doublings_left(together, fmt) / max(free, 1)
