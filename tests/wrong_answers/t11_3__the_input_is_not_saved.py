# message: what goes into the first layer is saved by it, too
def saved_bytes(net, x):
    saved = []
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x)
    own = {t.untyped_storage().data_ptr() for t in [x, *net.parameters(), *net.buffers()]}
    found = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in saved}
    del output
    return sum(size for address, size in found.items() if address not in own)
