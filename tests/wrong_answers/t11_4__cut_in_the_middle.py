# message: layers are not equal: cut by bytes
def held(sizes, starts):
    ends = [*starts[1:], len(sizes)]
    inputs = [sizes[start] for start in starts]
    whole = [sum(sizes[start:end]) for start, end in zip(starts, ends)]
    totals = [sum(inputs[:i]) + size for i, size in enumerate(whole)]
    return totals[-1], max(totals), starts[-1]


def best_cut(sizes):
    return len(sizes) // 2
