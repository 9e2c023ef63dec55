# message: does not simply halve
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return -0.5
