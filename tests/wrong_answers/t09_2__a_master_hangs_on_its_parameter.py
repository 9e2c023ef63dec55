# message: after float() alone autograd knows
def to_o2(model):
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            continue
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            if tensor.is_floating_point():
                tensor.data = tensor.data.half()

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
                group["params"][k] = param.float()
                pairs.append((param, group["params"][k]))
    return pairs
