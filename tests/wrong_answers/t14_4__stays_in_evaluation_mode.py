# message: is left in evaluation mode
def cause(run, images, labels):
    """Return "input", "weights", "forward" or "gradients"."""
    if not images.isfinite().all():
        return "input"
    if not all(p.isfinite().all() for p in run.model.parameters()):
        return "weights"
    model = run.model.eval()
    with torch.no_grad(), run.autocast():
        pieces = zip(images.split(run.piece), labels.split(run.piece), strict=True)
        losses = [F.cross_entropy(model(x), y) for x, y in pieces]
    return "gradients" if torch.stack(losses).isfinite().all() else "forward"
