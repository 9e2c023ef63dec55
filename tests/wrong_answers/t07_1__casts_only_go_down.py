# message: autocast also casts up
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
    if where == "fp32":
        return floats[0]
    return "float32" if "float32" in floats else floats[0]
