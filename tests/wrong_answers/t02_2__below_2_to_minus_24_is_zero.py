# message: not all below 2^-24 is lost
def largest_lost(w, fmt):
    exponent = max(math.frexp(w)[1] - 1, fmt.emin) if w else fmt.emin
    above = 2.0 ** (exponent - fmt.significand_bits)
    if w == 0:
        return math.nextafter(above, 0.0), math.nextafter(above, 0.0)
    count = int(w / above)
    below = above / 2 if count == 2**fmt.significand_bits and exponent > fmt.emin else above
    if count % 2:
        return math.nextafter(below / 2, 0.0), math.nextafter(above / 2, 0.0)
    return below / 2, above / 2


def first_overflow(fmt):
    return fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
