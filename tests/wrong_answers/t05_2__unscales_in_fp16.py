# message: divided in FP16, where what the scale had rescued
def unscale(gradients, scale):
    unscaled = [(gradient / np.float16(scale)).astype(np.float32) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
