def cause(run, images, labels):
    """Return "input", "weights", "forward" or "gradients"."""
    if not images.isfinite().all():
        return "input"
    if not all(p.isfinite().all() for p in run.model.parameters()):
        return "weights"
    kept = {name: value.clone() for name, value in run.model.state_dict().items()}
    pieces = images.split(run.piece), labels.split(run.piece)
    with torch.no_grad(), run.autocast():
        batch = zip(*pieces, strict=True)
        losses = [F.cross_entropy(run.model(x), y) for x, y in batch]
    finite = torch.stack(losses).isfinite().all()
    run.model.load_state_dict(kept)
    if not finite:
        return "forward"
    whole = all(b.isfinite().all() for b in run.model.buffers())
    return "gradients" if whole else "statistics"
