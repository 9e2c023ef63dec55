# message: just below a power of two log2 rounds up
def round_to(x, fmt, mode):
    if x == 0:
        return x
    exponent = max(math.floor(math.log2(abs(x))), fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    integer = {"nearest_even": round, "toward_zero": math.trunc, "up": math.ceil, "down": math.floor}
    size = abs(integer[mode](x / quantum)) * quantum
    if size > fmt.largest:
        outward = mode == "nearest_even" or mode == ("up" if x > 0 else "down")
        size = inf if outward else fmt.largest
    return math.copysign(size, x)
