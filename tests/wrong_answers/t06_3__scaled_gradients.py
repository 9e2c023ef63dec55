# message: the optimizer got gradients that were still scaled
def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


def unscale_and_step(optimizer, scale):
    gradients, found_inf = unscale([p.grad for p in optimizer.parameters], scale)
    for p, gradient in zip(optimizer.parameters, gradients, strict=True):
        pass
    if not found_inf:
        optimizer.step()
    return found_inf
