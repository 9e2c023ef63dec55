def to_o2(model):
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    saved = [{name: x.clone() for name, x in norm.state_dict().items()} for norm in norms]
    model.half()
    for norm, state in zip(norms, saved, strict=True):
        norm.float()
        norm.load_state_dict(state)
    inner = model.forward

    def forward(*inputs):
        cast = []
        for value in inputs:
            if isinstance(value, torch.Tensor) and torch.is_floating_point(value):
                value = value.half()
            cast.append(value)
        return inner(*cast).float()

    model.forward = forward
    return model


def make_masters(optimizer):
    copies = {}
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.dtype is torch.float16:
                copies[param] = nn.Parameter(param.data.to(torch.float32))
        group["params"][:] = [copies.get(param, param) for param in group["params"]]
    return list(copies.items())
