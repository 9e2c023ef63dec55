# message: the sum inside may have more
def measure(places, sizes):
    return min(n for n, d in places.items() if d == 0), 23
