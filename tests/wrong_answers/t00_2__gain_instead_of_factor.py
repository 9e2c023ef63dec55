# message: that counts from 1 on
def speedup(before, after):
    if before["unit"].endswith("/s"):
        return after["value"] / before["value"] - 1
    return before["value"] / after["value"] - 1


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
