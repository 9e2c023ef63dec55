# message: with as many on either side nobody can tell
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(("scale", "skipped", "weights"), zip(*rows), strict=True):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0]
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
