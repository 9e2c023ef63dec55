# message: `free` counts doublings
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    return 2.0 ** doublings_left(together, fmt) / max(free, 1)
