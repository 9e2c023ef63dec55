# message: the exponent field is 0 for all subnormals
def count_exponents(values):
    counted = values[np.isfinite(values) & (values != 0)]
    found, counts = np.unique(((counted.view(np.int64) >> 52) & 0x7FF) - 1023, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
