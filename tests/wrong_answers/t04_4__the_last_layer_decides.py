# message: that is the scale of one layer
def best_scale(step, fmt, free):
    return 2.0 ** (doublings_left(step.gradients[-1], fmt) - free)
