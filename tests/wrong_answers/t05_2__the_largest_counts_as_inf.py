# message: 65504 is FP16's largest number
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    found = any(not (np.abs(gradient) < 65504).all() for gradient in gradients)
    return unscaled, found
