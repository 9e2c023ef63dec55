# message: a different scale explains a different skip
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(
            ("skipped", "scale", "weights"), [list(zip(*rows))[k] for k in (1, 0, 2)], strict=True
        ):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if len(most) == 1 else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
