# message: unscaled gradients belong in p.grad
def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


def unscale_and_step(optimizer, scale):
    scaled = [p.grad for p in optimizer.parameters]
    gradients, found_inf = unscale(scaled, scale)
    for p, gradient in zip(optimizer.parameters, gradients, strict=True):
        p.grad = gradient
    if not found_inf:
        optimizer.step()
    for p, gradient in zip(optimizer.parameters, scaled, strict=True):
        p.grad = gradient
    return found_inf
