from itertools import accumulate


def span(trace):
    """Return start and length of a step."""
    first = min(event[2] for event in trace)
    return first, max(event[3] for event in trace) - first


def read(trace):
    """Return (share the device is busy, share in launches, what binds)."""
    _, length = span(trace)
    edges = sorted((t, way) for lane, _, *ends in trace if lane == "device"
                   for t, way in zip(ends, (1, -1), strict=True))  # fmt: skip
    running = list(accumulate(way for _, way in edges))
    busy = sum(edges[i + 1][0] - edges[i][0] for i in range(len(edges) - 1) if running[i] > 0)
    issued = sum(event[3] - event[2] for event in trace if event[1] == "launch")
    shares = busy / length, issued / length
    verdicts = ((shares[1] > 0.9, "host"), (shares[0] >= 0.9, "device"), (True, "neither"))
    return *shares, next(word for holds, word in verdicts if holds)


def amp_ratio(before, after):
    """Return how many times as fast `after` is, None if one of the two is host-bound."""
    bound = [read(trace)[2] for trace in (before, after)]
    return None if "host" in bound else span(before)[1] / span(after)[1]
