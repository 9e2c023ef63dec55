# message: write the unscaled gradients back
def unscale_and_step(optimizer, scale):
    gradients = [p.grad for p in optimizer.parameters if p.grad is not None]
    if not all(np.isfinite(g).all() for g in gradients):
        return True
    for p in optimizer.parameters:
        if p.grad is not None:
            p.grad = p.grad * np.float32(1 / scale)
    optimizer.step()
    return False
