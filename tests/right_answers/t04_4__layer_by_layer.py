def best_scale(step, fmt, free):
    return min(math.ldexp(1.0, doublings_left(layer, fmt) - free) for layer in step.gradients)
