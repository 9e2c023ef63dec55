def round_to(x, fmt, mode):
    """Cut first, then decide by what was cut off."""
    if x == 0:
        return x
    quantum = math.ulp(max(abs(x), 2.0**fmt.emin)) * 2.0 ** (52 - fmt.significand_bits)
    rest = abs(math.fmod(x, quantum))
    size = abs(x) - rest
    if mode == "nearest_even":
        odd = math.fmod(size, 2 * quantum) != 0
        away = rest > quantum / 2 or (rest == quantum / 2 and odd)
    else:
        away = rest > 0 and mode == {True: "up", False: "down"}[x > 0]
    if away:
        size += quantum
    if size > fmt.largest:
        toward = mode == "toward_zero" or (mode == "up" and x < 0) or (mode == "down" and x > 0)
        size = fmt.largest if toward else inf
    return size if x > 0 else -size
