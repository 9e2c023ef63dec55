# message: the first array is not all of them
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = not np.isfinite(gradients[0]).all()
    return unscaled, found
