# message: 65536 is too late
def doublings_left(values, fmt):
    limit = 2.0 ** (2 - fmt.emin)
    largest = np.max(np.abs(values))
    k = 0
    while largest * 2.0**k >= limit:
        k -= 1
    while largest * 2.0 ** (k + 1) < limit:
        k += 1
    return k
