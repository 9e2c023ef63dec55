# message: the scale also changes when it grows
def train(scaler, optimizer, scheduler, losses):
    """Run one training step per loss and return how many were skipped."""
    skipped = 0
    for loss in losses:
        scaled, scale = scaler.scale(loss), scaler.get_scale()
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() != scale:
            skipped += 1
        else:
            scheduler.step()
    return skipped


def verdict(dtype, scales):
    """Return "no scaler needed", "NaN" or "fine" for the log of a training."""
    if dtype != "float16":
        return "no scaler needed"
    last = scales[-21:]
    skips = sum(last[k] < last[k - 1] or last[k] == 0 for k in range(1, len(last)))
    return "NaN" if skips == 20 else "fine"
