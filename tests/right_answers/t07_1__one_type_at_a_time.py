def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    where = category(op, device)
    result = "int64"
    for kind in types:
        if kind in ("float16", "bfloat16", "float32"):
            if where == "lower_precision":
                kind = low
            if where == "fp32":
                kind = "float32"
            if result != "float32":
                result = kind
        if kind == "float64":
            result = kind
    return "error" if where == "error" else result
