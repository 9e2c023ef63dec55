def shrink(norm, max_norm, scale):
    lengths = torch.tensor([norm, norm * scale], dtype=torch.float64).clamp(max=max_norm)
    return (lengths[0] * scale / lengths[1]).item()


def clipped_step(net, optimizer, scaler, rows, max_norm):
    """Take one training step on score(net, rows), with the gradient clipped to max_norm."""
    scaler.scale(score(net, rows)).backward()
    scaler.unscale_(optimizer)
    squares = sum(p.grad.double().square().sum() for p in net.parameters())
    for p in net.parameters():
        if squares > max_norm**2:
            p.grad *= max_norm / squares.sqrt()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
