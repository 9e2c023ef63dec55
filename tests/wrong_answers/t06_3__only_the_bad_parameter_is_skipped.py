# message: the other parameters moved
def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


def unscale_and_step(optimizer, scale):
    found_inf = False
    for p in optimizer.parameters:
        (p.grad,), bad = unscale([p.grad], scale)
        if bad:
            p.grad = None
        found_inf = found_inf or bad
    optimizer.step()
    return found_inf
