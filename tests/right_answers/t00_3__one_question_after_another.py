def timed_well(run):
    waited = run["synchronized"] if run["device"] == "cuda" else True
    return waited and run["warm_up"] >= 1 and run["busy"] >= 0.9


def is_fair(before, after, called):
    if before["hardware"] != after["hardware"]:
        return False
    if before["batch"] != after["batch"]:
        return False
    if called != before["math"]:
        return False
    if not timed_well(before):
        return False
    if not timed_well(after):
        return False
    if None in (before["accuracy"], after["accuracy"]):
        return False
    return before["accuracy"] - after["accuracy"] <= 0.01
