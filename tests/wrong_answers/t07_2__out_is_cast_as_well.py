# message: into a cast copy of out
def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    where = category(op, "cpu")
    floats = (torch.float16, torch.bfloat16, torch.float32)

    def is_cast(value):
        return isinstance(value, torch.Tensor) and value.dtype in floats

    target = low if where == "lower_precision" else torch.float32
    values = [*args, *kwargs.values()]
    widest = any(is_cast(value) and value.dtype == torch.float32 for value in values)
    if where == "follows_input":
        return args, kwargs
    if where == "promote" and not widest:
        return args, kwargs
    args = [value.to(target) if is_cast(value) else value for value in args]
    return args, {k: v.to(target) if is_cast(v) else v for k, v in kwargs.items()}
