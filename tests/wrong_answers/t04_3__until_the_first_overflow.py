# message: the first that overflows
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    largest = np.max(np.abs(values))
    k = -900
    while largest * 2.0**k < limit:
        k += 1
    return k
