# message: cut means toward zero
def to_tf32(x, rounded=False):
    if not math.isfinite(x) or x == 0:
        return x
    unit = 2.0 ** (exponent(x, -126) - 10)
    if rounded:
        return math.copysign(math.floor(abs(x) / unit + 0.5) * unit, x)
    return math.floor(x / unit) * unit
