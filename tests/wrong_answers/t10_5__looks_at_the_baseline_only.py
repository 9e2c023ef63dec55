# message: AMP made this step host-bound
def read(trace):
    """Return (share the device is busy, share in launches, what binds)."""
    first, last = min(e[2] for e in trace), max(e[3] for e in trace)
    busy, reached = 0, first
    for _, _, start, end in sorted((e for e in trace if e[0] == "device"), key=lambda e: e[2]):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    issued = sum(end - start for _, kind, start, end in trace if kind == "launch")
    length = last - first
    shares = busy / length, issued / length
    bound = "host" if shares[1] > 0.9 else "device" if shares[0] >= 0.9 else "neither"
    return *shares, bound


def amp_ratio(before, after):
    """Return how many times as fast `after` is, None if one of the two is host-bound."""
    if read(before)[2] == "host":
        return None
    first, second = (max(e[3] for e in t) - min(e[2] for e in t) for t in (before, after))
    return first / second
