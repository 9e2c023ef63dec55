# message: while a segment in the middle is run again
def held(sizes, starts):
    ends = [*starts[1:], len(sizes)]
    kept = sum(sizes[s] for s in starts[:-1]) + sum(sizes[starts[-1] :])
    return kept, max(kept, sum(sizes[: ends[0]])), starts[-1]


def best_cut(sizes):
    return min(range(1, len(sizes)), key=lambda cut: held(sizes, [0, cut])[1])
