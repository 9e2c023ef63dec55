# message: nan_to_num hides what must be seen
def unscale(gradients, scale):
    unscaled = [
        np.nan_to_num(gradient.astype(np.float32)) / np.float32(scale) for gradient in gradients
    ]
    found = any(not np.isfinite(gradient).all() for gradient in gradients)
    return unscaled, found
