def measure(places, sizes):
    n = min(places)
    while places[n]:
        n += 1
    f = min(sizes)
    while sizes.get(f + 1):
        f += 1
    return n, f
