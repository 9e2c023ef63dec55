# message: can have a sum that is not
def cause(run, images, labels):
    """Return input, weights, forward, statistics or gradients."""
    if not images.sum().isfinite():
        return "input"
    if not all(p.isfinite().all() for p in run.model.parameters()):
        return "weights"
    model = copy.deepcopy(run.model)
    pieces = images.split(run.piece), labels.split(run.piece)
    with torch.no_grad(), run.autocast():
        batch = zip(*pieces, strict=True)
        losses = [F.cross_entropy(model(x), y) for x, y in batch]
    finite = torch.stack(losses).isfinite().all()
    if not finite:
        return "forward"
    whole = all(b.isfinite().all() for b in run.model.buffers())
    return "gradients" if whole else "statistics"
