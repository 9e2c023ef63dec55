# message: that is the limit of FP16
def doublings_left(values, fmt):
    limit = 65520.0
    k = -900
    while np.max(np.abs(values)) * 2.0 ** (k + 1) < limit:
        k += 1
    return k


def best_scale(step, fmt, free):
    return 2.0 ** (doublings_left(np.concatenate(step.gradients), fmt) - free)
