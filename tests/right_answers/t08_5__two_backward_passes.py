def penalised_step(net, optimizer, scaler, rows, weight):
    """Take one training step on score plus a penalty on its gradient; return the penalty."""
    optimizer.zero_grad()
    x = rows.clone().requires_grad_()
    loss = score(net, x)
    scaled = torch.autograd.grad(scaler.scale(loss), x, create_graph=True)[0]
    gradient = scaled.div(scaler.get_scale()).flatten()
    penalty = weight * gradient.dot(gradient)
    scaler.scale(penalty).backward(retain_graph=True)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return float(penalty)
