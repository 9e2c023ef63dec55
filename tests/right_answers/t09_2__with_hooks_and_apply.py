def to_o2(model):
    def cast(module):
        if not isinstance(module, nn.modules.batchnorm._BatchNorm):
            halve = lambda x: x.half() if x.is_floating_point() else x
            module._apply(halve, recurse=False)

    model.apply(cast)

    def before(_, inputs):
        return tuple(
            x.to(torch.float16) if torch.is_tensor(x) and x.dtype.is_floating_point else x
            for x in inputs
        )

    model.register_forward_pre_hook(before)
    model.register_forward_hook(lambda module, inputs, output: output.to(torch.float32))
    return model


def make_masters(optimizer):
    pairs = []
    for group in optimizer.param_groups:
        held = group["params"]
        halves = [p.dtype == torch.float16 for p in held]
        masters = [
            p.detach().float().requires_grad_() if half else p
            for p, half in zip(held, halves, strict=True)
        ]
        pairs += [(p, m) for p, m in zip(held, masters, strict=True) if p is not m]
        group["params"] = masters
    return pairs
