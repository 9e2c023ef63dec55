# message: not the ceiling
def count_exponents(values):
    counted = values[np.isfinite(values) & (values != 0)]
    found, counts = np.unique(np.ceil(np.log2(np.abs(counted))).astype(int), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist())), int((values == 0).sum())
