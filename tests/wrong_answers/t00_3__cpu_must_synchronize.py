# message: a CPU is done when the call returns
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        all(before[name] == after[name] for name in ("hardware", "batch"))
        and before["math"] == called
        and all(run["warm_up"] > 0 and run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
