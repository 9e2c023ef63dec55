# message: out=None chooses nothing
def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    where = category(op, "cpu")

    def is_cast(value):
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return floating and value.dtype != torch.float64

    target = low if where == "lower_precision" else torch.float32
    values = [*args, *kwargs.values()]
    widest = any(is_cast(value) and value.dtype == torch.float32 for value in values)
    if where == "follows_input" or "out" in kwargs:
        return args, kwargs
    if where == "promote" and not widest:
        return args, kwargs
    args = [value.to(target) if is_cast(value) else value for value in args]
    return args, {k: v.to(target) if is_cast(v) else v for k, v in kwargs.items()}
