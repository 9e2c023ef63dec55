def best_scale(step, fmt, free):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    largest = max(float(np.abs(layer).max()) for layer in step.gradients) * 2.0**free
    scale = 2.0**200
    while scale * largest >= limit:
        scale /= 2
    return scale
