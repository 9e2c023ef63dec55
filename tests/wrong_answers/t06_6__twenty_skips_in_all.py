# message: as long as others lie between them
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
    skips = sum(scales[k] < scales[k - 1] or scales[k] == 0 for k in range(1, len(scales)))
    return "NaN" if skips >= 20 else "fine"
