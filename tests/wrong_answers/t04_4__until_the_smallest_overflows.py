# message: lifting the smallest gradient is no limit
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) < limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    smallest = np.array([np.min(together[together > 0])])
    return 2.0 ** (doublings_left(smallest, fmt) - free)
