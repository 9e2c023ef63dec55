# message: the step itself must not be taken
def train_step(run, images, labels):
    """Train on one batch; return its mean loss and if it was taken."""
    run.optimizer.zero_grad()
    total = 0.0
    pieces = images.split(run.piece), labels.split(run.piece)
    for x, y in zip(*pieces, strict=True):
        with run.autocast():
            loss = F.cross_entropy(run.model(x), y, reduction="sum") / len(images)
        run.scaler.scale(loss).backward()
        total += loss.item()
    run.scaler.unscale_(run.optimizer)
    clip_grad_norm_(run.model.parameters(), run.max_norm)
    before = run.scaler.get_scale()
    run.scaler.step(run.optimizer)
    run.scaler.update()
    taken = math.isfinite(total) and run.scaler.get_scale() >= before
    if taken:
        run.scheduler.step()
    return total, taken
