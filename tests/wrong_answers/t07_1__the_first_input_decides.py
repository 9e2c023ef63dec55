# message: the first input is not the one that decides
def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    where = category(op, device)
    if where == "error":
        return "error"
    if "float64" in types:
        return "float64"
    floats = [kind for kind in types if kind != "int64"]
    if not floats:
        return "int64"
    if where == "lower_precision":
        return low
    return "float32" if where == "fp32" else floats[0]
