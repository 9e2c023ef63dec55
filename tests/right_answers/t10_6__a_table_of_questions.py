def computes(run):
    """Return the type of a run's FP32 convolutions."""
    return "tf32" if run["tf32"] and (run["capability"] or (0, 0))[0] >= 8 else "fp32"


def faults(before, after, called):
    """Return the sorted names of what speaks against this speed-up."""
    single = {
        "warm-up": lambda run: run["warm_up"] == 0,
        "loader": lambda run: run["loader"],
        "sync": lambda run: run["capability"] and not run["synchronized"],
        "emulated": lambda run: run["bf16"] and (run["capability"] or (8, 0)) < (8, 0),
        "host": lambda run: (run["issue"] or 0) > 0.9,
    }
    found = {name for name, bad in single.items() if bad(before) or bad(after)}
    found |= {n for n in ("hardware", "batch", "layout", "compiled") if before[n] != after[n]}
    if computes(before) != called:
        found.add("tf32")
    return sorted(found)


def gains(rows):
    """Return (ratio at equal batch, growth of the largest batch, ratio at own largest batches)."""
    ran = {(r["recipe"], r["batch"]): r["rate"] for r in rows if r["rate"]}
    most = {name: max(b for n, b in ran if n == name) for name in ("fp32", "amp")}
    shared = max(b for n, b in ran if n == "fp32" and ("amp", b) in ran)
    equal = ran["amp", shared] / ran["fp32", shared]
    own = ran["amp", most["amp"]] / ran["fp32", most["fp32"]]
    return equal, most["amp"] / most["fp32"], own
