# message: is forgotten when a finite gradient follows
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = False
    for g in gradients:
        if g is not None:
            found_inf = not np.isfinite(g).all()
    return unscaled, found_inf
