# message: only +inf is seen
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any((g == np.inf).any() for g in gradients if g is not None)
    return unscaled, found_inf
