# message: 0.0 is not below zero
def round_to(x, fmt, mode):
    exponent = max(math.frexp(x)[1] - 1, fmt.emin) if x else fmt.emin
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    integer = {"nearest_even": round, "toward_zero": math.trunc, "up": math.ceil, "down": math.floor}
    size = abs(integer[mode](x / quantum)) * quantum
    if size > fmt.largest:
        outward = mode == "nearest_even" or mode == ("up" if x > 0 else "down")
        size = inf if outward else fmt.largest
    return size if x > 0 else -size
