def measure(places, sizes):
    survivors = [d for d in places.values() if d > 0]
    smallest = min(d for d in sizes.values() if d > 0)
    return min(places) + len(survivors), -int(math.log2(smallest))
