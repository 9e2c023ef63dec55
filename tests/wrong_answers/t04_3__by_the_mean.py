# message: the mean says nothing about the largest
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    largest = np.mean(np.abs(values))
    k = 0
    while largest * 2.0**k >= limit:
        k -= 1
    while largest * 2.0 ** (k + 1) < limit:
        k += 1
    return k
