def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    if "out" in kwargs and kwargs["out"] is not None:
        return args, kwargs
    rule, args, kwargs = category(op, "cpu"), list(args), dict(kwargs)
    places = [(args, k) for k in range(len(args))] + [(kwargs, name) for name in kwargs]
    cast = []
    for holder, place in places:
        value = holder[place]
        if isinstance(value, torch.Tensor) and str(value.dtype) in (
            "torch.float16",
            "torch.bfloat16",
            "torch.float32",
        ):
            cast.append((holder, place))
    example = torch.empty(0, dtype=low if rule == "lower_precision" else torch.float32)
    if rule == "promote" and all(holder[place].itemsize == 2 for holder, place in cast):
        return args, kwargs
    if rule != "follows_input":
        for holder, place in cast:
            holder[place] = holder[place].type_as(example)
    return args, kwargs
