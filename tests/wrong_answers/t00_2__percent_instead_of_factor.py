# message: the factor itself is asked for
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return 100 * (after["value"] / before["value"] - 1)
    return 100 * (1 - after["value"] / before["value"])


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
