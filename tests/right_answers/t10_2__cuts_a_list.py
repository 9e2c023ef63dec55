def speedup(before, after, draws):
    """Return (median ratio, low, high): how many times as fast `after` is."""
    found = []
    for draw in draws:
        found.append(median([before[i] / after[i] for i in draw]))
    found.sort()
    k = len(found) // 40
    kept = found[k : len(found) - k]
    return median([b / a for b, a in zip(before, after, strict=True)]), min(kept), max(kept)


def verdict(value, low, high):
    """Return "faster", "slower" or "not shown"."""
    if low <= 1 <= high:
        return "not shown"
    return "faster" if value > 1 else "slower"
