# message: the type is to be returned as text
def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    where = category(op, device)
    if where == "error":
        return "error"
    if "float64" in types:
        return torch.float64
    floats = [kind for kind in types if kind != "int64"]
    if not floats:
        return torch.int64
    if where == "lower_precision":
        return getattr(torch, low)
    wide = where == "fp32" or "float32" in floats
    return torch.float32 if wide else getattr(torch, floats[0])
