# message: the gradients decide, whatever the loss is
def best_scale(step, fmt, free):
    exponent = math.frexp(step.loss)[1] - 1
    together = np.concatenate(step.gradients)
    return 2.0 ** (doublings_left(together, fmt) + exponent - free)
