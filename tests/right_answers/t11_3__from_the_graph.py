def saved_bytes(net, x):
    sizes, nodes, seen = {}, [net(x).grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes += [parent for parent, _ in node.next_functions]
        for name in dir(node):
            if name.startswith("_saved_") and torch.is_tensor(value := getattr(node, name)):
                sizes[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
    for tensor in [*net.parameters(), *net.buffers()]:
        sizes.pop(tensor.untyped_storage().data_ptr(), None)
    return sum(sizes.values())
