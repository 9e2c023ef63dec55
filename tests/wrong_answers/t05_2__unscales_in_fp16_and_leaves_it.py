# message: divided in FP16 and left there
def unscale(gradients, scale):
    unscaled = [gradient / np.float16(scale) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
