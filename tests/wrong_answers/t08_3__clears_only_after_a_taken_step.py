# message: an inf stays in .grad
def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    optimizer.zero_grad()
    for i, rows in enumerate(batches, 1):
        scaler.scale(score(net, rows) / every).backward()
        if i % every == 0:
            before = scaler.get_scale()
            scaler.unscale_(optimizer)
            clip_grad_norm_(net.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            if scaler.get_scale() >= before:
                optimizer.zero_grad()
