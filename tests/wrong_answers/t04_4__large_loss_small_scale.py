# message: a large loss needs no large scale
def best_scale(step, fmt, free):
    return 2.0 ** (doublings_left(np.array([step.loss]), fmt) - free)
