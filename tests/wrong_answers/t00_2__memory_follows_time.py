# message: memory does not follow time
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["value"] / before["value"] - 1
