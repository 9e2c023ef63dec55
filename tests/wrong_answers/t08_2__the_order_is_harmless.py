# message: the order is not harmless
def shrink(norm, max_norm, scale):
    """Return by which factor clipping before unscale_ makes an update too short."""
    return 1.0


def clipped_step(net, optimizer, scaler, rows, max_norm):
    """Take one training step on score(net, rows), with the gradient clipped to max_norm."""
    optimizer.zero_grad()
    scaler.scale(score(net, rows)).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(net.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
