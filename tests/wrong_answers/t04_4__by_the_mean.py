# message: the best scale by the mean
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    mean = np.array([np.mean(together)])
    return 2.0 ** (doublings_left(mean, fmt) - free)
