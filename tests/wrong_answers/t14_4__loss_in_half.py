# message: a loss of 120000 is finite in FP32
def cause(run, images, labels):
    """Return input, weights, forward, statistics or gradients."""
    if not images.isfinite().all():
        return "input"
    if not all(p.isfinite().all() for p in run.model.parameters()):
        return "weights"
    model = copy.deepcopy(run.model)
    pieces = images.split(run.piece), labels.split(run.piece)
    losses = []
    with torch.no_grad():
        for x, y in zip(*pieces, strict=True):
            with run.autocast():
                scores = model(x)
            losses.append(F.cross_entropy(scores, y))
    finite = torch.stack(losses).isfinite().all()
    if not finite:
        return "forward"
    whole = all(b.isfinite().all() for b in run.model.buffers())
    return "gradients" if whole else "statistics"
