# message: the scale must not change the update
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
