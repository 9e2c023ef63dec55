# message: a parameter without a gradient was counted with one
def inventory(net, optimizer):
    parameters = list(net.parameters())
    weights = sum(p.nbytes for p in parameters)
    held = [v for state in optimizer.state.values() for v in state.values()]
    return weights, weights, sum(v.nbytes for v in held if torch.is_tensor(v))
