def shrink(norm, max_norm, scale):
    clipped_early = max_norm < scale * norm
    clipped = max_norm < norm
    if clipped and clipped_early:
        return scale
    if clipped_early:
        return scale * norm / max_norm
    return max_norm / norm if clipped else 1


def clipped_step(net, optimizer, scaler, rows, max_norm):
    """Take one training step on score(net, rows), with the gradient clipped to max_norm."""
    net.zero_grad()
    scaler.scale(score(net, rows)).backward()
    clip_grad_norm_(net.parameters(), max_norm * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
