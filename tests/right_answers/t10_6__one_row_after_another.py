def faults(before, after, called):
    """Return the sorted names of what speaks against this speed-up."""
    found = []
    for name in ("batch", "compiled", "hardware", "layout"):
        if before[name] != after[name]:
            found += [name]
    ampere = before["capability"] not in (None, (7, 0), (7, 5)) and before["capability"] >= (8, 0)
    actual = "fp32"
    if before["tf32"] and ampere:
        actual = "tf32"
    if actual != called:
        found += ["tf32"]
    for run in (before, after):
        if run["warm_up"] < 1:
            found += ["warm-up"]
        if run["loader"]:
            found += ["loader"]
        if run["capability"] is not None and run["synchronized"] is False:
            found += ["sync"]
        if run["issue"] is not None and run["issue"] > 0.9:
            found += ["host"]
        if run["bf16"] and run["capability"] in ((7, 0), (7, 5)):
            found += ["emulated"]
    return sorted(set(found))


def gains(rows):
    """Return (ratio at equal batch, growth of the largest batch, ratio at own largest batches)."""
    ordered = sorted((r for r in rows if r["rate"] is not None), key=lambda r: r["batch"])
    slow = [r for r in ordered if r["recipe"] == "fp32"]
    fast = [r for r in ordered if r["recipe"] == "amp"]
    pairs = [(s, f) for s in slow for f in fast if s["batch"] == f["batch"]]
    s, f = pairs[-1]
    a, b = slow[-1], fast[-1]
    return f["rate"] / s["rate"], b["batch"] / a["batch"], b["rate"] / a["rate"]
