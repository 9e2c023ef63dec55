# message: the share that is left
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"]
