# message: adding a half and taking the floor sends every tie up
def round_to(x, fmt, mode):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    integer = {"nearest_even": lambda count: math.floor(count + 0.5), "toward_zero": math.trunc, "up": math.ceil, "down": math.floor}
    size = abs(integer[mode](x / quantum)) * quantum
    if size > fmt.largest:
        outward = mode == "nearest_even" or mode == ("up" if x > 0 else "down")
        size = inf if outward else fmt.largest
    return math.copysign(size, x)
