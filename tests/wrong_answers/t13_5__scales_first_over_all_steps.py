# message: is the consequence of a skip that was not shared
def diverged(traces):
    for k, what in enumerate(("scale", "skipped", "weights")):
        for step, rows in enumerate(zip(*traces, strict=True)):
            values = [row[k] for row in rows]
            if len(set(values)) > 1:
                counts = {value: values.count(value) for value in values}
                most = [v for v, count in counts.items() if count == max(counts.values())]
                usual = most[0] if len(most) == 1 else None
                return step, what, [r for r, v in enumerate(values) if v != usual]
    return None
