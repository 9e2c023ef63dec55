# message: BF16 has FP32's range, but not its digits
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
    wide = where == "fp32" and low == "float16"
    return "float32" if wide or "float32" in floats else floats[0]
