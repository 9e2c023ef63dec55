# message: 4 bytes for each number: in BF16 there are 2
def inventory(net, optimizer):
    weights = gradients = state = 0
    for p in net.parameters():
        weights += 4 * p.numel()
        if p.grad is not None:
            gradients += 4 * p.numel()
        for value in optimizer.state[p].values():
            if torch.is_tensor(value):
                state += 4 * value.numel()
    return weights, gradients, state
