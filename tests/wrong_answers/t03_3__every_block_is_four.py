# message: four FP16 products are a block of a V100
def measure(places, sizes):
    return 4, max(f for f, d in sizes.items() if d != 0)
