# message: entries are in any order
def measure(places, sizes):
    block_length = next(n for n in places if places[n] == 0)
    for f in sizes:
        if sizes[f] == 0:
            break
    return block_length, f - 1
