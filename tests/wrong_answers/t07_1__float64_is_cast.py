# message: who uses float64 wants its digits
def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    where = category(op, device)
    if where == "error":
        return "error"
    types = ["float32" if kind == "float64" else kind for kind in types]
    floats = [kind for kind in types if kind != "int64"]
    if not floats:
        return "int64"
    if where == "lower_precision":
        return low
    return "float32" if where == "fp32" or "float32" in floats else floats[0]
