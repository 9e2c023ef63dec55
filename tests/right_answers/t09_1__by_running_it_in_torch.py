def types(layers, level, keep_batchnorm_fp32=None):
    half, keep = level in ("O2", "O3"), keep_batchnorm_fp32
    if keep is None:
        keep = level == "O2"
    names = {torch.float32: "fp32", torch.float16: "fp16"}
    x, rows = torch.randn(5, 3), []
    x = x.half() if half else x
    for name in layers:
        layer = {"linear": lambda: nn.Linear(3, 3), "batch norm": lambda: nn.BatchNorm1d(3)}
        layer = layer.get(name, {"relu": nn.ReLU, "softmax": lambda: nn.Softmax(1)}.get(name))()
        if half and not (keep and name == "batch norm"):
            layer.half()
        if level == "O1" and name == "linear":
            x = F.linear(x.half(), layer.weight.half(), layer.bias.half())
        elif level == "O1" and name == "softmax":
            x = F.softmax(x.float(), 1)
        else:
            x = layer(x)
        params = [*layer.parameters()]
        if not params:
            rows.append((None, names[x.dtype], None, None))
            continue
        gradient = torch.autograd.grad(x.float().sum(), params, retain_graph=True)[0]
        stepped = params[0].float() if level == "O2" else params[0]
        rows.append(
            (names[params[0].dtype], names[x.dtype], names[gradient.dtype], names[stepped.dtype])
        )
    return rows
