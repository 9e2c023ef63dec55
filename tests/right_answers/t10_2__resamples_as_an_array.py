import numpy as np


def speedup(before, after, draws):
    """Return (median ratio, low, high): how many times as fast `after` is."""
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    medians = np.sort(np.median(np.array(ratios)[np.array(draws)], axis=1))
    k = len(draws) // 40
    return median(ratios), medians[k], medians[-1 - k]


def verdict(value, low, high):
    """Return "faster", "slower" or "not shown"."""
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "not shown"
