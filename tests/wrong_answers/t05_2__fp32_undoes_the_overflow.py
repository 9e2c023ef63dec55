# message: converting to FP32 undoes no overflow
def unscale(gradients, scale):
    unscaled = [
        np.nan_to_num(gradient.astype(np.float32)) / np.float32(scale) for gradient in gradients
    ]
    found = any(not np.isfinite(g).all() for g in unscaled)
    return unscaled, found
