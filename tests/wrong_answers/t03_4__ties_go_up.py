# message: toward larger numbers
def to_tf32(x, rounded=False):
    if not math.isfinite(x) or x == 0:
        return x
    unit = 2.0 ** (exponent(x, -126) - 10)
    if rounded:
        halves = abs(x) / unit
        even = round(halves) * unit
        away = math.floor(halves + 0.5) * unit
        return away if x > 0 else -even
    return math.trunc(x / unit) * unit
