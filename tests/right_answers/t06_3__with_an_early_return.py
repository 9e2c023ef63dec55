def unscale(gradients, scale):
    inverse = np.float32(1 / scale)
    unscaled = [g if g is None else g * inverse for g in gradients]
    found_inf = any(not np.isfinite(g).all() for g in gradients if g is not None)
    return unscaled, found_inf


def unscale_and_step(optimizer, scale):
    parameters = optimizer.parameters
    new, overflow = unscale([p.grad for p in parameters], scale)
    for k in range(len(parameters)):
        parameters[k].grad = new[k]
    if overflow:
        return True
    optimizer.step()
    return False
