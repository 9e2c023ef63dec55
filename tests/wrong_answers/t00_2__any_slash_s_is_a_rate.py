# message: ms is a time, not a rate
def speedup(before, after):
    if "/s" in before["unit"]:
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
