# message: 65536 is too late
def doublings_left(values, fmt):
    limit = 2.0 ** (2 - fmt.emin)
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) < limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    return 2.0 ** (doublings_left(np.concatenate(step.gradients), fmt) - free)
