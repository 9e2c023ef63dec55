def inventory(net, optimizer):
    def size(tensors):
        found = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        return sum(found.values())

    parameters = [*net.parameters()]
    state = optimizer.state_dict()["state"]
    kept = [v for one in state.values() for v in one.values() if torch.is_tensor(v)]
    return size(parameters), size(p.grad for p in parameters if p.grad is not None), size(kept)
