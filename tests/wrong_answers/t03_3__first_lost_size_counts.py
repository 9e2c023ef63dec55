# message: 2^-F itself is not cut off
def measure(places, sizes):
    block_length = min(n for n, d in places.items() if d == 0)
    return block_length, min(f for f, d in sizes.items() if d == 0)
