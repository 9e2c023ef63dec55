# message: frexp's fraction starts at 0.5
def count_exponents(values):
    counted = values[np.isfinite(values) & (values != 0)]
    found, counts = np.unique(np.frexp(counted)[1], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
