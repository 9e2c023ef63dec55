# message: need not come in the pairs that are sold
def measure(places, sizes):
    bits_kept = max(f for f, d in sizes.items() if d != 0)
    return 2 ** (bits_kept - 21), bits_kept
