# message: the unit decides
def speedup(before, after):
    if before["value"] >= 100:
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
