def verdict(differences, margin):
    """Return "equivalent", "different" or "undecided"."""
    from scipy.stats import ttest_1samp

    def above(bound):
        return ttest_1samp(differences, bound, alternative="greater").pvalue < 0.05

    def below(bound):
        return ttest_1samp(differences, bound, alternative="less").pvalue < 0.05

    if above(-margin) and below(margin):
        return "equivalent"
    return "different" if above(margin) or below(-margin) else "undecided"
