# message: that is the exact sum, rounded once
def block_sum(a, b, c, F):
    return fp32(math.fsum([*(x * y for x, y in zip(a, b)), c]))
