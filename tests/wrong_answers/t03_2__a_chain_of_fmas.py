# message: not added one by one
def block_sum(a, b, c, F):
    total = c
    for x, y in zip(a, b):
        total = fp32(total + x * y)
    return total
