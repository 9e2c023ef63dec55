# message: a loss can be as well measured
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and after["step_ms"] < before["step_ms"]
        and before["math"] == called
        and all(run["warm_up"] > 0 and run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
