def unscale(gradients, scale):
    shift = -int(math.log2(scale))
    unscaled = []
    for gradient in gradients:
        values = [math.ldexp(float(value), shift) for value in gradient.flat]
        unscaled.append(np.array(values, np.float32).reshape(gradient.shape))
    bad = [value for array in unscaled for value in array.flat if not math.isfinite(value)]
    return unscaled, bool(bad)
