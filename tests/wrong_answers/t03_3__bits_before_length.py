# message: in this order
def measure(places, sizes):
    block_length = min(n for n, d in places.items() if d == 0)
    return max(f for f, d in sizes.items() if d != 0), block_length
