def cast_inputs(op, args, kwargs, low):
    """Return (args, kwargs) as the op is to get them under autocast."""
    out = kwargs.get("out")
    if isinstance(out, torch.Tensor):
        return args, kwargs
    places = dict(enumerate(args)) | kwargs
    cast = {
        place: value
        for place, value in places.items()
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point
        if value.dtype != torch.float64
    }
    kinds = [value.dtype for value in cast.values()]
    match category(op, "cpu"):
        case "lower_precision":
            target = low
        case "fp32":
            target = torch.float32
        case "promote" if torch.float32 in kinds:
            target = torch.float32
        case _:
            target = None
    if target is not None:
        places |= {place: value.to(dtype=target) for place, value in cast.items()}
    return tuple(places[k] for k in range(len(args))), {name: places[name] for name in kwargs}
