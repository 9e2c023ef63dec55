# message: new parameters are unknown to an optimizer
def to_o2(model):
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            continue
        for name, p in [*module.named_parameters(recurse=False)]:
            setattr(module, name, nn.Parameter(p.detach().half()))
        for name, buffer in [*module.named_buffers(recurse=False)]:
            if buffer.is_floating_point():
                setattr(module, name, buffer.half())

    def halve(value):
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.half() if floats else value

    forward = model.forward
    model.forward = lambda *inputs: forward(*map(halve, inputs)).float()
    return model


def make_masters(optimizer):
    pairs = []
    for group in optimizer.param_groups:
        for k, param in enumerate(group["params"]):
            if param.dtype == torch.float16:
                group["params"][k] = nn.Parameter(param.detach().float())
                pairs.append((param, group["params"][k]))
    return pairs
