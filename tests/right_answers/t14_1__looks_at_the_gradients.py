def train_step(run, images, labels):
    """Train on one batch; return its mean loss and whether it was taken."""
    parameters = [p for group in run.optimizer.param_groups for p in group["params"]]
    losses = []
    for start_at in range(0, len(images), run.piece):
        part = slice(start_at, start_at + run.piece)
        with run.autocast():
            scores = run.model(images[part])
        # scores.float() instead of a loss under autocast: FP32 either way
        loss = F.cross_entropy(scores.float(), labels[part])
        share = len(labels[part]) / len(labels)
        run.scaler.scale(loss * share).backward()
        losses.append(loss.item() * share)
    run.scaler.unscale_(run.optimizer)
    finite = all(p.grad.isfinite().all().item() for p in parameters)
    clip_grad_norm_(parameters, run.max_norm)
    total = sum(losses)
    if run.scaler.is_enabled() or math.isfinite(total):
        run.scaler.step(run.optimizer)
    run.scaler.update()
    run.optimizer.zero_grad()
    taken = finite and math.isfinite(total)
    if taken:
        run.scheduler.step()
    return total, taken
