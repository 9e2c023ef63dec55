def inventory(net, optimizer):
    weights = gradients = state = 0
    for p in net.parameters():
        weights += p.numel() * p.element_size()
        if p.grad is not None:
            gradients += p.grad.numel() * p.grad.element_size()
        for value in optimizer.state.get(p, {}).values():
            if isinstance(value, torch.Tensor):
                state += value.numel() * value.element_size()
    return weights, gradients, state
