def to_o2(model):
    norm = nn.modules.batchnorm._BatchNorm
    spared = {id(t) for m in model.modules() if isinstance(m, norm) for t in m.parameters()}
    spared |= {id(t) for m in model.modules() if isinstance(m, norm) for t in m.buffers()}
    tensors = [*model.parameters(), *model.buffers()]
    for tensor in tensors:
        if id(tensor) not in spared and torch.is_floating_point(tensor):
            tensor.data = tensor.detach().to(dtype=torch.float16)
    kind_of = type(model)

    class InHalf(kind_of):
        def __call__(self, *inputs):
            cast = [x.half() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]
            return super().__call__(*cast).to(torch.float32)

    model.__class__ = InHalf
    return model


def make_masters(optimizer):
    def master(param):
        with torch.no_grad():
            copy = torch.empty_like(param, dtype=torch.float32)
            copy.copy_(param)
        copy.requires_grad = True
        return copy

    half = torch.float16
    groups = optimizer.param_groups
    old = [param for group in groups for param in group["params"] if param.dtype == half]
    new = [master(param) for param in old]
    queue = iter(new)
    for group in groups:
        group["params"] = [next(queue) if p.dtype == half else p for p in group["params"]]
    return [*zip(old, new, strict=True)]
