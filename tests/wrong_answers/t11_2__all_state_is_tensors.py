# message: 'int' object has no attribute 'nbytes'
def inventory(net, optimizer):
    parameters = list(net.parameters())
    weights = sum(p.nbytes for p in parameters)
    gradients = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    held = [v for state in optimizer.state.values() for v in state.values()]
    return weights, gradients, sum(v.nbytes for v in held)
