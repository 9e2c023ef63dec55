# message: the nearest power of two can be too large
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    return 2.0 ** (round(math.log2(limit / np.max(together))) - free)
