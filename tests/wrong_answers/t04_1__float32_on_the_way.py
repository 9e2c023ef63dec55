# message: rounds up to the power of two
def count_exponents(values):
    counted = values[np.isfinite(values) & (values != 0)]
    narrow = counted.astype(np.float32)
    exponents = np.where(narrow != 0, np.frexp(narrow)[1], np.frexp(counted)[1]) - 1
    found, counts = np.unique(exponents, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
