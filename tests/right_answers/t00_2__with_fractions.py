from fractions import Fraction


def speedup(before, after):
    ratio = Fraction(before["value"]) / Fraction(after["value"])
    return float(1 / ratio if before["unit"].endswith("/s") else ratio)


def memory_change(before, after):
    return float(Fraction(after["memory_mb"], before["memory_mb"]) - 1)
