def largest_lost(w, fmt):
    scale = 2.0 ** (52 - fmt.significand_bits)
    floor = 2.0**fmt.emin
    above = math.ulp(max(w, floor)) * scale
    below = math.ulp(max(math.nextafter(w, 0.0), floor)) * scale
    lost = [below / 2, above / 2]
    if math.fmod(w, 2 * above) != 0:
        lost = [math.nextafter(limit, 0.0) for limit in lost]
    return lost


def first_overflow(fmt):
    return fmt.largest + math.ulp(fmt.largest) * 2.0 ** (51 - fmt.significand_bits)
