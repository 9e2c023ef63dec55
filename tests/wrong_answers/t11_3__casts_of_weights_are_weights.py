# message: autocast's copies of weights are memory of their own
def saved_bytes(net, x):
    saved = []
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x)
    own = {tuple(sorted(t.shape)) for t in [*net.parameters(), *net.buffers()]}
    found = {t.untyped_storage().data_ptr(): (tuple(sorted(t.shape)), t.untyped_storage().nbytes()) for t in saved}
    return sum(size for shape, size in found.values() if shape not in own)
