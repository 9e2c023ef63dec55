# message: for so few Student's t is larger
def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    from statistics import mean, stdev

    from scipy.stats import t

    n = len(differences)
    half = 1.645 * stdev(differences) / math.sqrt(n)
    low, high = mean(differences) - half, mean(differences) + half
    if -margin < low and high < margin:
        return "equivalent"
    outside = low > margin or high < -margin
    return "different" if outside else "undecided"
