# message: may come out better
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and before["math"] == called
        and all(run["warm_up"] > 0 for run in runs)
        and all(run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and abs(before["accuracy"] - after["accuracy"]) <= 0.01
    )
