def read(trace):
    """Return (share the device is busy, share in launches, what binds)."""
    first = min(start for _, _, start, _ in trace)
    length = max(end for _, _, _, end in trace) - first
    marked = {"kernel": set(), "launch": set(), "load": set(), "wait": set()}
    for _, kind, start, end in trace:
        marked[kind].update(range(start, end))
    busy, issue = len(marked["kernel"]) / length, len(marked["launch"]) / length
    if issue > 0.9:
        return busy, issue, "host"
    return busy, issue, "device" if busy >= 0.9 else "neither"


def amp_ratio(before, after):
    """Return how many times as fast `after` is, None if one of the two is host-bound."""
    lengths = []
    for trace in (before, after):
        if read(trace)[2] == "host":
            return None
        lengths.append(max(e[3] for e in trace) - min(e[2] for e in trace))
    return lengths[0] / lengths[1]
