from collections import Counter


def diverged(traces):
    steps = len(traces[0])
    for step in range(steps):
        for k, what in enumerate(["scale", "skipped", "weights"]):
            values = [trace[step][k] for trace in traces]
            (most, count), *others = Counter(values).most_common()
            if not others:
                continue
            if others[0][1] == count:
                return step, what, list(range(len(traces)))
            return step, what, [rank for rank, value in enumerate(values) if value != most]
