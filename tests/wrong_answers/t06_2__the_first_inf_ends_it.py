# message: the finite gradients beside it are unscaled
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    for g in gradients:
        if g is not None and not np.isfinite(g).all():
            return gradients, True
    return [g if g is None else g * inverse for g in gradients], False
