# message: upside down
def speedup(before, after):
    return after["value"] / before["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
