def output_type(op, types, device, low):
    """Return the type that an op gives under autocast."""
    kinds = set(types)
    if category(op, device) == "error":
        return "error"
    if kinds <= {"int64", "float64"}:
        return max(kinds - {"int64"}, default="int64")
    rule = {
        "lower_precision": low,
        "fp32": "float32",
    }
    widest = "float32" if "float32" in kinds else (kinds - {"int64"}).pop()
    return rule.get(category(op, device), widest)
