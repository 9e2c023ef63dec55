# message: 65505 does not overflow
def doublings_left(values, fmt):
    limit = fmt.largest
    largest = np.max(np.abs(values))
    k = 0
    while largest * 2.0**k > limit:
        k -= 1
    while largest * 2.0 ** (k + 1) <= limit:
        k += 1
    return k
