# message: one more than the largest number is not yet too large
def largest_lost(w, fmt):
    exponent = max(math.frexp(w)[1] - 1, fmt.emin) if w else fmt.emin
    above = 2.0 ** (exponent - fmt.significand_bits)
    count = int(w / above)
    below = above / 2 if count == 2**fmt.significand_bits and exponent > fmt.emin else above
    if count % 2:
        return math.nextafter(below / 2, 0.0), math.nextafter(above / 2, 0.0)
    return below / 2, above / 2


def first_overflow(fmt):
    return fmt.largest + 1
