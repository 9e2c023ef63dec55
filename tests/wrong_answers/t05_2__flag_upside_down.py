# message: upside down: `found`
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = all(np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
