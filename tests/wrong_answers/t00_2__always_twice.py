# message: the rule of thumb is not a measurement
def speedup(before, after):
    return 2.0


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
