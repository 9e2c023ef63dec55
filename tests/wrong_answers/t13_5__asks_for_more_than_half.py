# message: more than half is not asked for
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(("scale", "skipped", "weights"), zip(*rows), strict=True):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if 2 * max(counts.values()) > len(values) else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
