# message: the tie comes back to it and is lost
def largest_lost(w, fmt):
    if w == 0:
        return (2.0 ** (fmt.emin - fmt.significand_bits - 1),) * 2
    exponent = max(math.frexp(w)[1] - 1, fmt.emin) if w else fmt.emin
    above = 2.0 ** (exponent - fmt.significand_bits)
    count = int(w / above)
    below = above / 2 if count == 2**fmt.significand_bits and exponent > fmt.emin else above
    return math.nextafter(below / 2, 0.0), math.nextafter(above / 2, 0.0)


def first_overflow(fmt):
    return fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
