# message: the 2048 rule is one-sided
def largest_lost(w, fmt):
    if w == 0:
        smallest = 2.0 ** (fmt.emin - fmt.significand_bits)
        return smallest / 2, smallest / 2
    limit = w / 2.0 ** (fmt.significand_bits + 1)
    return limit, limit


def first_overflow(fmt):
    return fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
