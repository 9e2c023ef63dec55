# message: the first gradient is not the only one
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    present = [g for g in gradients if g is not None]
    found_inf = bool(present) and not np.isfinite(present[0]).all()
    return unscaled, found_inf
