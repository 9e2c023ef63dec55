# message: the gradient was not clipped
def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    optimizer.zero_grad()
    for i, rows in enumerate(batches, 1):
        scaler.scale(score(net, rows) / every).backward()
        if i % every == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
