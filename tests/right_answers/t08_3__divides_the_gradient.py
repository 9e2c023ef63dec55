def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    for k in range(0, len(batches), every):
        optimizer.zero_grad()
        for rows in batches[k : k + every]:
            scaler.scale(score(net, rows)).backward()
        scaler.unscale_(optimizer)
        for p in net.parameters():
            p.grad /= every
        clip_grad_norm_(net.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
