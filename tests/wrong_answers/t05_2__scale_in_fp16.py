# message: the scale was rounded to FP16, where from
def unscale(gradients, scale):
    with np.errstate(over="ignore"):
        half = np.float16(scale)
    unscaled = [gradient.astype(np.float32) / half for gradient in gradients]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
