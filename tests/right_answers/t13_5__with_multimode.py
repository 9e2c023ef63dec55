from statistics import multimode


def diverged(traces):
    columns = [list(zip(*rows, strict=True)) for rows in zip(*traces, strict=True)]
    places = [(s, k) for s, column in enumerate(columns) for k in range(3) if len({*column[k]}) > 1]
    if not places:
        return None
    step, k = min(places)
    values, usual = columns[step][k], multimode(columns[step][k])
    odd = [r for r in range(len(values)) if len(usual) > 1 or values[r] not in usual]
    return (step, ("scale", "skipped", "weights")[k], odd)
