# message: two views of one storage start at two addresses
def saved_bytes(net, x):
    saved = []
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x)
    own = {t.data_ptr() for t in [*net.parameters(), *net.buffers()]}
    found = {t.data_ptr(): t.untyped_storage().nbytes() for t in saved}
    del output
    return sum(size for address, size in found.items() if address not in own)
