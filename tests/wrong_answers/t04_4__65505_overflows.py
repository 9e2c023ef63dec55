# message: 65505 still fits
def doublings_left(values, fmt):
    limit = fmt.largest
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) <= limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    return 2.0 ** (doublings_left(np.concatenate(step.gradients), fmt) - free)
