# message: the flag of the last array overwrote the others
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    for gradient in gradients:
        found = not np.isfinite(gradient).all()
    return unscaled, found
