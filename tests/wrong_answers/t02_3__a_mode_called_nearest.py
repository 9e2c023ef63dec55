# message: does the code know the name 'nearest_even'
def round_to(x, fmt, mode):
    if x == 0:
        return x
    exponent = max(math.frexp(x)[1] - 1, fmt.emin)
    quantum = 2.0 ** (exponent - fmt.significand_bits)
    count = x / quantum
    if mode == "nearest":
        count = round(count)
    elif mode == "toward_zero":
        count = math.trunc(count)
    elif mode == "up":
        count = math.ceil(count)
    else:
        count = math.floor(count)
    size = abs(count) * quantum
    if size > fmt.largest:
        outward = mode == "nearest_even" or mode == ("up" if x > 0 else "down")
        size = inf if outward else fmt.largest
    return math.copysign(size, x)
