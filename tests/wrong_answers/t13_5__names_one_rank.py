# message: name every rank that differs
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(("scale", "skipped", "weights"), zip(*rows), strict=True):
            if len(set(values)) > 1:
                return (
                    step,
                    what,
                    [r for r, v in enumerate(values) if v != max(values, key=values.count)][:1],
                )
    return None
