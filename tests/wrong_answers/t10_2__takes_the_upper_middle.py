# message: of an even number of ratios
def speedup(before, after, draws):
    """Return (median ratio, low, high): how many times as fast `after` is."""
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    medians = sorted(median(ratios[i] for i in draw) for draw in draws)
    k = len(draws) // 40
    return sorted(ratios)[len(ratios) // 2], medians[k], medians[-1 - k]


def verdict(value, low, high):
    """Return "faster", "slower" or "not shown"."""
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "not shown"
