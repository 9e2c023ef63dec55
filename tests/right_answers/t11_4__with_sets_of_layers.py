def held(sizes, starts):
    ends = starts[1:] + [len(sizes)]
    kept, most = set(), 0
    for start, end in zip(starts, ends):
        now = kept | set(range(start, end))
        most = max(most, sum(sizes[i] for i in now))
        kept = kept | {start}
    return sum(sizes[i] for i in now), most, start


def best_cut(sizes):
    peaks = [held(sizes, [0, cut])[1] for cut in range(1, len(sizes))]
    return peaks.index(min(peaks)) + 1
