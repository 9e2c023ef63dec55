# message: that is right for FP16
def largest_lost(w, fmt):
    exponent = max(math.frexp(w)[1] - 1, -14) if w else -14
    above = 2.0 ** (exponent - 10)
    count = int(w / above)
    below = above / 2 if count == 2**10 and exponent > -14 else above
    if count % 2:
        return math.nextafter(below / 2, 0.0), math.nextafter(above / 2, 0.0)
    return below / 2, above / 2


def first_overflow(fmt):
    return 65520.0
