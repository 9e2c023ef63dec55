# message: significant is not yet different
def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    from statistics import mean, stdev

    from scipy.stats import t

    n = len(differences)
    half = t.ppf(0.95, n - 1) * stdev(differences) / math.sqrt(n)
    low, high = mean(differences) - half, mean(differences) + half
    if -margin < low and high < margin:
        return "equivalent"
    outside = low > 0 or high < 0
    return "different" if outside else "undecided"
