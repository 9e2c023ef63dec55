# message: autocast was in FP16 whatever
def train_step(run, images, labels):
    """Train on one batch; return its mean loss and if it was taken."""
    run.optimizer.zero_grad()
    total = 0.0
    pieces = images.split(run.piece), labels.split(run.piece)
    for x, y in zip(*pieces, strict=True):
        share = len(x) / len(images)
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(run.model(x), y) * share
        run.scaler.scale(loss).backward()
        total += loss.item()
    run.scaler.unscale_(run.optimizer)
    clip_grad_norm_(run.model.parameters(), run.max_norm)
    before = run.scaler.get_scale()
    if run.scaler.is_enabled() or math.isfinite(total):
        run.scaler.step(run.optimizer)
    run.scaler.update()
    not_skipped = run.scaler.get_scale() >= before
    taken = math.isfinite(total) and not_skipped
    if taken:
        run.scheduler.step()
    return total, taken
