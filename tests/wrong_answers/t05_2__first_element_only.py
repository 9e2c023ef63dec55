# message: one element of an array is not all
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any(not np.isfinite(gradient.flat[0]) for gradient in gradients)
    return unscaled, found
