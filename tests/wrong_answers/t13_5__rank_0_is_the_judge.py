# message: rank 0 is no judge
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(("scale", "skipped", "weights"), zip(*rows), strict=True):
            if len(set(values)) > 1:
                usual = values[0]
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
