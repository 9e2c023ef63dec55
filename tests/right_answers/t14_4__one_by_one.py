def cause(run, images, labels):
    """Return "input", "weights", "forward" or "gradients"."""
    broken = {"input": [images], "weights": list(run.model.parameters())}
    for name, tensors in broken.items():
        for tensor in tensors:
            if tensor.isnan().any() or tensor.isinf().any():
                return name
    twin = copy.deepcopy(run.model).train()
    for start_at in range(0, len(images), run.piece):
        part = slice(start_at, start_at + run.piece)
        with run.autocast(), torch.no_grad():
            loss = F.cross_entropy(twin(images[part]), labels[part]).item()
        if not math.isfinite(loss):
            return "forward"
    whole = all(b.isfinite().all() for b in run.model.buffers())
    return "gradients" if whole else "statistics"
