# message: lifting the smallest gradient is no limit
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    smallest = np.min(together[together > 0])
    return 2.0 ** (fmt.emin - math.frexp(smallest)[1] + 1 - free)
