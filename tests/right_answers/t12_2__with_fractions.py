from fractions import Fraction


def scale_for(amax, largest, margin=0):
    if amax == 0 or not math.isfinite(amax):
        return 1.0
    room = Fraction(largest) / Fraction(amax) / 2**margin
    exponent = room.numerator.bit_length() - room.denominator.bit_length()
    if Fraction(2) ** exponent > room:
        exponent -= 1
    return float(Fraction(2) ** exponent)


def round_trip(x, kind):
    scale = np.float32(scale_for(max(abs(float(v)) for v in x), LARGEST[kind]))
    return (to_fp8(scale * x, kind) / scale).astype(np.float32)
