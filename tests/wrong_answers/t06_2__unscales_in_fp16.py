# message: in FP16 the small ones are lost again
def unscale(gradients, scale):
    """Return (unscaled gradients, found_inf) for a list of float32 arrays or None."""
    inverse = np.float32(1 / scale)
    unscaled = [
        g if g is None else (g.astype(np.float16) / np.float16(scale)).astype(np.float32)
        for g in gradients
    ]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf
