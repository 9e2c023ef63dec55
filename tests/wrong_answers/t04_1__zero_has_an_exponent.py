# message: zeros ended in a bin
def count_exponents(values):
    counted = values[np.isfinite(values)]
    found, counts = np.unique(np.frexp(counted)[1] - 1, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
