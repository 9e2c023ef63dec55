# message: counted once for each layer that uses it
def inventory(net, optimizer):
    parameters = [p for m in net.modules() for p in m._parameters.values() if p is not None]
    weights = sum(p.nbytes for p in parameters)
    gradients = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    held = [v for state in optimizer.state.values() for v in state.values()]
    return weights, gradients, sum(v.nbytes for v in held if torch.is_tensor(v))
