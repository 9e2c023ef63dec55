# message: that scale is no power of two
def best_scale(step, fmt, free):
    together = np.concatenate([np.abs(layer) for layer in step.gradients])
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    return limit / np.max(together) / 2**free
