def faults(before, after, called):
    for name in ("hardware", "batch"):
        if before[name] != after[name]:
            yield f"{name} differs"
    if before["math"] != called:
        yield "misnamed baseline"
    for run in (before, after):
        if run["warm_up"] == 0:
            yield "no warm-up"
        if run["device"] != "cpu" and not run["synchronized"]:
            yield "clock stopped early"
        if run["busy"] < 0.9:
            yield "host-bound"
        if run["accuracy"] is None:
            yield "accuracy unknown"
            return
    if before["accuracy"] - after["accuracy"] > 0.01:
        yield "learned less"


def is_fair(before, after, called):
    return not list(faults(before, after, called))
