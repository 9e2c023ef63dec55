# message: NaN was missed
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any(np.isinf(gradient).any() for gradient in gradients)
    return unscaled, found
