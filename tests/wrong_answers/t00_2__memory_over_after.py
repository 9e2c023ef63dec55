# message: over the memory after
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return (after["memory_mb"] - before["memory_mb"]) / after["memory_mb"]
