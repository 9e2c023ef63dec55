@contextmanager
def scale_loss(loss, optimizer, scaler):
    yield loss.to(torch.float32) * scaler.scale
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    for p in params:
        p.grad = p.grad * (1 / scaler.scale)
    if all(bool(torch.isfinite(p.grad).all()) for p in params):
        scaler.good = (scaler.good + 1) % scaler.window
        if scaler.good == 0:
            scaler.scale = min(scaler.scale * 2, scaler.ceiling)
    else:
        scaler.scale *= 0.5
        scaler.good = 0
        for p in params:
            p.grad = None  # an optimizer passes over parameters without a gradient
