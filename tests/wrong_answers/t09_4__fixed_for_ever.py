# message: a dynamic scale moves
@contextmanager
def scale_loss(loss, optimizer, scaler):
    yield loss.float() * scaler.scale
    found_inf = False
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad /= scaler.scale
                found_inf = found_inf or not p.grad.isfinite().all()
    if found_inf:
        scaler.good = 0
        step = optimizer.step

        def skip(*args, **kwargs):
            optimizer.step = step

        optimizer.step = skip
        return
    scaler.good += 1
    if scaler.good == scaler.window:
        pass
