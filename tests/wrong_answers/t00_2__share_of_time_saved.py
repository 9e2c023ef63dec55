# message: share of the time that was saved
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return 1 - before["value"] / after["value"]
    return 1 - after["value"] / before["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
