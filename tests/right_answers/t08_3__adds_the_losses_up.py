def accumulate(net, optimizer, scaler, batches, every, max_norm):
    """Train with one clipped step for every so many micro-batches."""
    waiting = []
    for rows in batches:
        waiting.append(score(net, rows))
        if len(waiting) < every:
            continue
        net.zero_grad()
        scaler.scale(sum(waiting) / len(waiting)).backward()
        clip_grad_norm_(net.parameters(), max_norm * scaler.get_scale())
        scaler.step(optimizer)
        scaler.update()
        waiting.clear()
