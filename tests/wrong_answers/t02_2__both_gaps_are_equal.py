# message: the two gaps next to a power of two differ
def largest_lost(w, fmt):
    exponent = max(math.frexp(w)[1] - 1, fmt.emin) if w else fmt.emin
    half = 2.0 ** (exponent - fmt.significand_bits - 1)
    if w / (2 * half) % 2:
        half = math.nextafter(half, 0.0)
    return half, half


def first_overflow(fmt):
    return fmt.largest + 2.0 ** (-fmt.emin - fmt.significand_bits)
