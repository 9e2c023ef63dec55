def unscale_and_step(optimizer, scale):
    found = []
    for p in filter(lambda p: p.grad is not None, optimizer.parameters):
        found.append(bool(np.isfinite(p.grad).all()))
        p.grad = p.grad * np.float32(1 / scale)
    good = all(found)
    good and optimizer.step()
    return not good
