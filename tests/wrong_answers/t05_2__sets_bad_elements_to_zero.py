# message: setting it to 0 hides the overflow
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    unscaled = [np.where(np.isfinite(g), g, np.float32(0)) for g in unscaled]
    return unscaled, found
