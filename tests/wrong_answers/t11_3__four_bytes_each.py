# message: 4 bytes for each element, whatever its type
def saved_bytes(net, x):
    saved = []
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        output = net(x)
    own = {t.untyped_storage().data_ptr() for t in [*net.parameters(), *net.buffers()]}
    found = {t.untyped_storage().data_ptr(): 4 * t.untyped_storage().nbytes() // t.element_size() for t in saved}
    return sum(size for address, size in found.items() if address not in own)
