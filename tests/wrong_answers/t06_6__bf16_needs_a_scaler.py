# message: BF16 has almost the range of FP32
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
    if dtype == "float32":
        return "no scaler needed"
    last = scales[-21:]
    skips = sum(last[k] < last[k - 1] or last[k] == 0 for k in range(1, len(last)))
    return "NaN" if skips == 20 else "fine"
