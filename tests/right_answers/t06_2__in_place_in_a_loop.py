def unscale(gradients, scale):
    inverse, found_inf = fp32(1 / scale), False
    for g in gradients:
        if g is not None:
            found_inf |= not all(map(math.isfinite, g.tolist()))
            np.multiply(g, np.float32(inverse), out=g)
    return gradients, found_inf
