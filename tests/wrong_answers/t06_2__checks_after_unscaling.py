# message: a scale below 1 enlarges gradients
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf); a gradient may be None."""
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in unscaled if g is not None)
    return unscaled, found_inf
