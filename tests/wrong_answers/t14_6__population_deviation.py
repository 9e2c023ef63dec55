# message: n - 1 in the denominator: statistics.stdev
def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    from statistics import mean, pstdev

    from scipy.stats import t

    n = len(differences)
    half = t.ppf(0.95, n - 1) * pstdev(differences) / math.sqrt(n)
    low, high = mean(differences) - half, mean(differences) + half
    if -margin < low and high < margin:
        return "equivalent"
    outside = low > margin or high < -margin
    return "different" if outside else "undecided"
