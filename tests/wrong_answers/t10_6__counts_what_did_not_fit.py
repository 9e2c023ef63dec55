# message: a batch that did not fit
def faults(before, after, called):
    """Return the sorted names of what speaks against this speed-up."""
    runs = before, after
    names = ("hardware", "batch", "layout", "compiled")
    found = [name for name in names if before[name] != after[name]]
    can = before["capability"] is not None and before["capability"] >= (8, 0)
    if called != ("tf32" if before["tf32"] and can else "fp32"):
        found.append("tf32")
    if not all(run["warm_up"] for run in runs):
        found.append("warm-up")
    if any(run["loader"] for run in runs):
        found.append("loader")
    if any(run["capability"] is not None and not run["synchronized"] for run in runs):
        found.append("sync")
    if any(run["issue"] is not None and run["issue"] > 0.9 for run in runs):
        found.append("host")
    if any(run["bf16"] and (run["capability"] or (8, 0)) < (8, 0) for run in (before, after)):
        found.append("emulated")
    return sorted(found)


def gains(rows):
    """Return (ratio at equal batch, growth of the largest batch, ratio at own largest batches)."""
    rates = {name: {} for name in ("fp32", "amp")}
    for row in rows:
        if row["rate"] is not None:
            rates[row["recipe"]][row["batch"]] = row["rate"]
    slow, fast = rates["fp32"], rates["amp"]
    shared, a, b = max(slow.keys() & fast.keys()), max(slow), max(fast)
    return (
        fast[shared] / slow[shared],
        b / max(r["batch"] for r in rows if r["recipe"] == "fp32"),
        fast[b] / slow[a],
    )
