# message: a smaller batch is another training
def is_fair(before, after, called):
    runs = before, after
    if before["accuracy"] is None or after["accuracy"] is None:
        return False
    return (
        (before["hardware"] == after["hardware"] and after["batch"] <= before["batch"])
        and before["math"] == called
        and all(run["warm_up"] > 0 for run in runs)
        and all(run["busy"] >= 0.9 for run in runs)
        and all(run["synchronized"] or run["device"] == "cpu" for run in runs)
        and after["accuracy"] >= before["accuracy"] - 0.01
    )
