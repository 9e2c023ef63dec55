# message: 1 / scale was rounded to FP16
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) * np.float16(1 / scale) for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
