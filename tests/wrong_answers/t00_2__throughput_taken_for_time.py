# message: is a rate, not a time
def speedup(before, after):
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
