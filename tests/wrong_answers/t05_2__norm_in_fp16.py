# message: a sum or square in FP16 overflows
def unscale(gradients, scale):
    unscaled = [gradient.astype(np.float32) / np.float32(scale) for gradient in gradients]
    with np.errstate(over="ignore"):
        found = any(not np.isfinite((gradient * gradient).sum()) for gradient in gradients)
    return unscaled, found
