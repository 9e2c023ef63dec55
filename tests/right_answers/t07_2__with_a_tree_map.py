def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    from torch.utils._pytree import tree_leaves, tree_map

    rule = category(op, "cpu")
    leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    kinds = {x.dtype for x in leaves}
    wanted = {"lower_precision": low, "fp32": torch.float32}.get(rule)
    if rule == "promote" and torch.float32 in kinds:
        wanted = torch.float32
    if wanted is None or kwargs.get("out") is not None:
        return args, kwargs

    def cast(x):
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != torch.float64:
            return x.to(wanted)
        return x

    return tree_map(cast, (args, kwargs))
