# message: a step is taken with all parameters or with none
@contextmanager
def scale_loss(loss, optimizer, scaler):
    yield loss.float() * scaler.scale
    found_inf = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scaler.scale
                bad = not p.grad.isfinite().all()
                found_inf = found_inf or bad
                p.grad = None if bad else p.grad
    if found_inf:
        scaler.scale, scaler.good = scaler.scale / 2, 0
        return
    scaler.good += 1
    if scaler.good == scaler.window:
        scaler.scale, scaler.good = min(2 * scaler.scale, scaler.ceiling), 0
