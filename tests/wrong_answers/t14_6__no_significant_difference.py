# message: few runs often have one
def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    from statistics import mean, stdev

    from scipy.stats import t

    n = len(differences)
    half = t.ppf(0.95, n - 1) * stdev(differences) / math.sqrt(n)
    low, high = mean(differences) - half, mean(differences) + half
    if low < 0 < high:
        return "equivalent"
    outside = low > margin or high < -margin
    return "different"
