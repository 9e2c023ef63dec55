# message: the series need not start at place 1
def measure(places, sizes):
    block_length = 1 + sum(d != 0 for d in places.values())
    return block_length, max(f for f, d in sizes.items() if d != 0)
