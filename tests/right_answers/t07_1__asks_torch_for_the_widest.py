def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    rule = category(op, device)
    widest = getattr(torch, types[0])
    for kind in types[1:]:
        widest = torch.promote_types(widest, getattr(torch, kind))
    if rule == "error":
        return rule
    if widest in (torch.int64, torch.float64):
        return str(widest).split(".")[1]
    if rule == "lower_precision":
        return low
    return "float32" if rule == "fp32" else str(widest).split(".")[1]
