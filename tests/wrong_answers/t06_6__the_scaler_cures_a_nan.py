# message: no scale cures a NaN
def train(scaler, optimizer, scheduler, losses):
    """Run one training step per loss and return how many were skipped."""
    skipped = 0
    for loss in losses:
        scaled, scale = scaler.scale(loss), scaler.get_scale()
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < scale or scaler.get_scale() == 0:
            skipped += 1
        else:
            scheduler.step()
    return skipped


def verdict(dtype, scales):
    """Return "no scaler needed", "NaN" or "fine" for the log of a training."""
    if dtype != "float16":
        return "no scaler needed"
    return "fine"
