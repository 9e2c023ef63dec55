# message: the buffers of the batch norm were counted
def inventory(net, optimizer):
    parameters = list(net.parameters())
    weights = sum(t.nbytes for t in [*parameters, *net.buffers()])
    gradients = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    held = [v for state in optimizer.state.values() for v in state.values()]
    return weights, gradients, sum(v.nbytes for v in held if torch.is_tensor(v))
