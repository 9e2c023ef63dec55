def penalised_step(net, optimizer, scaler, rows, weight):
    """Take one training step on score plus a penalty on its gradient; return the penalty."""
    optimizer.zero_grad()
    x = rows.clone().requires_grad_()
    loss = score(net, x)
    gradients = torch.autograd.grad(scaler.scale(loss), [x], create_graph=True)
    inverse = 1.0 / scaler.get_scale()
    penalty = weight * sum((g * inverse).pow(2).sum() for g in gradients)
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()
    return penalty.item()
