# message: that is the limit of FP16
def doublings_left(values, fmt):
    limit = 65520.0
    largest = np.max(np.abs(values))
    k = 0
    while largest * 2.0**k >= limit:
        k -= 1
    while largest * 2.0 ** (k + 1) < limit:
        k += 1
    return k
