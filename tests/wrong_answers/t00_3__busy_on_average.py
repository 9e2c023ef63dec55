# message: 0.9 is asked of each run
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and before["math"] == called
        and all(run["warm_up"] > 0 for run in runs)
        and before["busy"] + after["busy"] >= 1.8
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
