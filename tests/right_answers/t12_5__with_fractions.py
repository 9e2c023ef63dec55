from fractions import Fraction

SIZES = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)]


def mxfp4(block):
    amax = max(abs(Fraction(x)) for x in block)
    code = 0
    while code < 254 and amax >= Fraction(2) ** (code + 1 - 127 + 2):
        code += 1
    scale, codes = Fraction(2) ** (code - 127), []
    for x in block:
        distances = [abs(abs(Fraction(x)) / scale - size) for size in SIZES]
        near = [k for k in range(8) if distances[k] == min(distances)]
        best = near[0] if len(near) == 1 else next(k for k in near if k % 2 == 0)
        codes.append(best + (8 if str(x).startswith("-") else 0))
    return code, codes
