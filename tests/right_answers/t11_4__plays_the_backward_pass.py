def held(sizes, starts):
    stack = [sizes[start] for start in starts[:-1]]
    last = sizes[starts[-1] :]
    kept = sum(stack) + sum(last)
    most, end = kept, starts[-1]
    for start in reversed(starts[:-1]):
        stack.pop()
        most = max(most, sum(stack) + sum(sizes[start:end]))
        end = start
    return kept, most, starts[-1]


def best_cut(sizes):
    best = None
    for cut in range(1, len(sizes)):
        _, most, _ = held(sizes, [0, cut])
        if best is None or most < best[0]:
            best = most, cut
    return best[1]
