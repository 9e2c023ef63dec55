# message: not every op runs in the region's type
def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    if "float64" in types:
        return "float64"
    floats = [kind for kind in types if kind != "int64"]
    return low if floats else "int64"
