# message: an overflow that nobody hears of
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    unscaled = [g if g is None else np.nan_to_num(g, posinf=0, neginf=0) for g in unscaled]
    return unscaled, found_inf
