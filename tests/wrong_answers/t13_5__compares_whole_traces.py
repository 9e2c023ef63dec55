# message: a rank that differs only at a later step
from collections import Counter


def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        if len(set(rows)) > 1:
            columns = zip(NAMES, zip(*rows), strict=True)
            what = next(name for name, column in columns if len(set(column)) > 1)
            seen = [tuple(trace) for trace in traces]
            top = Counter(seen).most_common(2)
            usual = None if len(top) > 1 and top[0][1] == top[1][1] else top[0][0]
            return step, what, [r for r, line in enumerate(seen) if line != usual]
    return None
