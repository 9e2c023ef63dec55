# message: look at input and weights first
def cause(run, images, labels):
    """Return "input", "weights", "forward" or "gradients"."""
    model = copy.deepcopy(run.model)
    with torch.no_grad(), run.autocast():
        pieces = zip(images.split(run.piece), labels.split(run.piece), strict=True)
        losses = [F.cross_entropy(model(x), y) for x, y in pieces]
    if not torch.stack(losses).isfinite().all():
        return "forward"
    if not images.isfinite().all():
        return "input"
    return "gradients"
