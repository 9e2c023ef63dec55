# message: the last segment's input is among its layers' inputs
def held(sizes, starts):
    ends = [*starts[1:], len(sizes)]
    inputs = [sizes[start] for start in starts]
    whole = [sum(sizes[start:end]) for start, end in zip(starts, ends)]
    totals = [sum(inputs[:i]) + size for i, size in enumerate(whole)]
    return sum(inputs) + whole[-1], max(totals), starts[-1]


def best_cut(sizes):
    return min(range(1, len(sizes)), key=lambda cut: max(sum(sizes[:cut]), sizes[0] + sum(sizes[cut:])))
