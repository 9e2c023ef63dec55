# message: is Adam's state after a step, not any optimizer's
def inventory(net, optimizer):
    parameters = list(net.parameters())
    weights = sum(p.nbytes for p in parameters)
    gradients = sum(p.grad.nbytes for p in parameters if p.grad is not None)
    return weights, gradients, 2 * weights
