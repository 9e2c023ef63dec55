# message: a float64 tensor is no reason to cast
def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    where = category(op, "cpu")

    def is_cast(value):
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return floating and value.dtype != torch.float64

    target = low if where == "lower_precision" else torch.float32
    values = [*args, *kwargs.values()]
    wide = (torch.float32, torch.float64)
    widest = any(isinstance(value, torch.Tensor) and value.dtype in wide for value in values)
    if where == "follows_input" or kwargs.get("out") is not None:
        return args, kwargs
    if where == "promote" and not widest:
        return args, kwargs
    args = [value.to(target) if is_cast(value) else value for value in args]
    return args, {k: v.to(target) if is_cast(v) else v for k, v in kwargs.items()}
