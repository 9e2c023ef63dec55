# message: the last place in a block is L - 1
def measure(places, sizes):
    block_length = max(n for n, d in places.items() if d != 0)
    return block_length, max(f for f, d in sizes.items() if d != 0)
