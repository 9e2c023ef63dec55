# message: a large negative gradient overflows to -inf
def best_scale(step, fmt, free):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    largest = np.max(np.concatenate(step.gradients))
    scale = 2.0**200
    while scale * largest >= limit:
        scale /= 2
    return scale / 2**free
