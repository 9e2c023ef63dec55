def speed(run):
    is_rate = run["unit"][-2:] == "/s"
    return run["value"] if is_rate else 1 / run["value"]


def speedup(before, after):
    return speed(after) / speed(before)


def memory_change(before, after):
    old, new = before["memory_mb"], after["memory_mb"]
    return (new - old) / old
