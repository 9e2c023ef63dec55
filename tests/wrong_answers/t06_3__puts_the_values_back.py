# message: but the momentum was not
def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


def unscale_and_step(optimizer, scale):
    gradients, found_inf = unscale([p.grad for p in optimizer.parameters], scale)
    for p, gradient in zip(optimizer.parameters, gradients, strict=True):
        p.grad = gradient
    before = [p.value for p in optimizer.parameters]
    optimizer.step()
    if found_inf:
        for p, value in zip(optimizer.parameters, before, strict=True):
            p.value = value
    return found_inf
