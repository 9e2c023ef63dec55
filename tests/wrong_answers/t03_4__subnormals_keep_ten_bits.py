# message: a subnormal number has fewer than ten bits
def to_tf32(x, rounded=False):
    if x == 0 or not math.isfinite(x):
        return x
    unit = 2.0 ** (math.frexp(x)[1] - 11)
    count = abs(x) / unit
    return math.copysign(math.floor(count + 0.5 * rounded) * unit, x)
