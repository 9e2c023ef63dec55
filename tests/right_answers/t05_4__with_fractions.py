from fractions import Fraction


def steps_to_move(w, update):
    here = np.float16(w)
    there = np.nextafter(here, np.float16(math.copysign(inf, update)))
    ratio = abs(Fraction(float(there)) - Fraction(w)) / 2 / abs(Fraction(update))
    even = int(here.view(np.uint16)) % 2 == 0
    steps = math.floor(ratio) + 1 if even else math.ceil(ratio)
    return (Fraction(1) if steps == 1 else inf), steps
