# message: the indices of a pooling are saved
def saved_bytes(net, x):
    saved = []
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x)
    own = {t.untyped_storage().data_ptr() for t in [*net.parameters(), *net.buffers()]}
    found = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in saved if t.is_floating_point()}
    return sum(size for address, size in found.items() if address not in own)
