# message: the last step shows that ranks differ, not since when
def diverged(traces):
    for step, rows in reversed(list(enumerate(zip(*traces, strict=True)))):
        for what, values in zip(("scale", "skipped", "weights"), zip(*rows), strict=True):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if len(most) == 1 else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
