def round_to(x, fmt, mode):
    exact, exponent = Fraction(abs(x)), fmt.emin
    while exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    gap = Fraction(2) ** (exponent - fmt.significand_bits)
    count, rest = divmod(exact, gap)
    negative = math.copysign(1, x) < 0
    away = mode == ("down" if negative else "up")
    if mode == "nearest_even":
        more = 2 * rest > gap or (2 * rest == gap and count % 2)
    else:
        more = away and rest > 0
    rounded = (count + 1 if more else count) * gap
    if rounded > Fraction(fmt.largest):
        rounded = inf if away or mode == "nearest_even" else fmt.largest
    return -float(rounded) if negative else float(rounded)
