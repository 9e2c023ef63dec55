# message: multiplied by the scale once more
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) * np.float32(scale) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
