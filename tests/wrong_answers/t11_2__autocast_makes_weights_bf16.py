# message: look at their type, not at the recipe
def inventory(net, optimizer):
    weights = gradients = state = 0
    for p in net.parameters():
        weights += 2 * p.numel()
        if p.grad is not None:
            gradients += 2 * p.numel()
        for value in optimizer.state[p].values():
            if torch.is_tensor(value):
                state += value.nbytes
    return weights, gradients, state
