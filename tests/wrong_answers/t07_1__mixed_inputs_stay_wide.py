# message: of two types both are cast down
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
        return low if len(set(floats)) == 1 else "float32"
    return "float32" if where == "fp32" or "float32" in floats else floats[0]
