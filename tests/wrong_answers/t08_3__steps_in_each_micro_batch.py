# message: that is a step for every micro-batch
def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    for rows in batches:
        optimizer.zero_grad()
        scaler.scale(score(net, rows) / every).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(net.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
