# message: a block holds four products on a V100 only
def measure(places, sizes):
    return 4, max(f for f, d in sizes.items() if d != 0)
