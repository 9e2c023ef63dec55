# message: F does not follow from L
def measure(places, sizes):
    length = min(n for n, d in places.items() if d == 0)
    return length, 21 + int(math.log2(length))
