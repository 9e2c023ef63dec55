# message: weights differ because the skip does
def diverged(traces):
    for step, rows in enumerate(zip(*traces, strict=True)):
        for what, values in zip(
            ("weights", "skipped", "scale"), list(zip(*rows))[::-1], strict=True
        ):
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if len(most) == 1 else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
