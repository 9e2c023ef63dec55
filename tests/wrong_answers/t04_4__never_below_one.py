# message: the scale may be below 1
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    return max(1.0, 2.0 ** (doublings_left(together, fmt) - free))
