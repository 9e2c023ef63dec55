def fit(counts, kind, tolerance):
    smallest, largest = (2.0**e for e in RANGES[kind])
    largest *= 1.5
    shift = 200
    while 2.0 ** (max(counts) + 1 + shift) > largest:
        shift -= 1
    lost = [e for e in counts if 2.0 ** (e + 1 + shift) <= smallest / 2]
    share = sum(counts[e] for e in lost) / sum(counts.values())
    return share <= tolerance, shift


def plan(histograms, tolerance):
    result = {}
    for name in histograms:
        result[name] = ("bf16", 0)
        for kind in reversed(list(RANGES)):
            good, shift = fit(histograms[name], kind, tolerance)
            if good:
                result[name] = (kind, shift)
    return result


def best_block(errors, element_bits, scale_bits, budget):
    rows = [
        (error, -size) for size, error in errors.items() if element_bits + scale_bits / size <= budget
    ]
    return -min(rows)[1] if rows else None
