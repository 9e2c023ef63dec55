# message: what layers put out is not what they save
def saved_bytes(net, x):
    sizes = []
    for layer in net:
        layer.register_forward_hook(lambda _, inputs, output: sizes.append(output.nbytes))
    net(x)
    return sum(sizes)
