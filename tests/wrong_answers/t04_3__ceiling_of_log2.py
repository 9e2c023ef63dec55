# message: was rounded up to a whole number
def doublings_left(values, fmt):
    limit = fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
    return math.ceil(math.log2(limit / np.max(np.abs(values)))) - 1
