# message: NaN was missed
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any((np.abs(gradient) > 65504).any() for gradient in gradients)
    return unscaled, found
