# message: 32 bits in memory, but
def to_tf32(x, rounded=False):
    return x
