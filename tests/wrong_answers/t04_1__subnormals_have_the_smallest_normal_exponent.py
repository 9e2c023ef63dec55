# message: the exponent field is 0 for all subnormals
def count_exponents(values):
    counted = values[np.isfinite(values) & (values != 0)]
    found, counts = np.unique(np.maximum(np.frexp(counted)[1] - 1, -1022), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
