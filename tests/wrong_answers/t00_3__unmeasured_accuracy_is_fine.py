# message: an accuracy that nobody measured
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        before, after = before | {"accuracy": 1.0}, after | {"accuracy": 1.0}
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and before["math"] == called
        and all(run["warm_up"] > 0 and run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
