# message: not a tensor
def penalised_step(net, optimizer, scaler, rows, weight):
    """Take one training step on score plus a penalty on its gradient; return the penalty."""
    optimizer.zero_grad()
    x = rows.clone().requires_grad_()
    loss = score(net, x)
    (scaled,) = torch.autograd.grad(scaler.scale(loss), x, create_graph=True)
    gradient = scaled / scaler.get_scale()
    penalty = weight * gradient.square().sum()
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()
    return penalty
