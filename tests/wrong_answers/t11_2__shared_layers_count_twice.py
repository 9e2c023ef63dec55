# message: counted once for each layer that uses it
def inventory(net, optimizer):
    layers = net if isinstance(net, nn.Sequential) else [net]
    weights = gradients = 0
    for layer in layers:
        weights += layer.weight.nbytes
        if layer.weight.grad is not None:
            gradients += layer.weight.grad.nbytes
    held = [v for state in optimizer.state.values() for v in state.values()]
    return weights, gradients, sum(v.nbytes for v in held if torch.is_tensor(v))
