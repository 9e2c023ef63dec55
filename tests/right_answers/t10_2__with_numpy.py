import numpy as np


def speedup(before, after, draws):
    """Return (median ratio, low, high): how many times as fast `after` is."""
    ratios = np.array(before) / np.array(after)
    medians = np.sort([np.median(ratios[draw]) for draw in draws])
    k = len(draws) // 40
    return float(np.median(ratios)), float(medians[k]), float(medians[-k - 1])


def verdict(value, low, high):
    """Return "faster", "slower" or "not shown"."""
    sides = np.sign([low - 1, high - 1])
    return {2: "faster", -2: "slower"}.get(int(sides.sum()), "not shown")
