def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    import numpy as np
    from scipy import stats

    d = np.asarray(differences)
    low, high = stats.t.interval(0.9, len(d) - 1, loc=d.mean(), scale=stats.sem(d))
    if max(abs(low), abs(high)) < margin:
        return "equivalent"
    if min(abs(low), abs(high)) > margin and low * high > 0:
        return "different"
    return "undecided"
