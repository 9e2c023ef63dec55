def fit(counts, kind, tolerance):
    smallest, largest = (2.0**e for e in RANGES[kind])
    largest *= 1.5
    shift = 300
    while 2.0 ** (max(counts) + 1 + shift) > largest:
        shift -= 1
    return lost(counts, smallest, shift) / sum(counts.values()) <= tolerance, shift


def lost(counts, smallest, shift):
    return sum(counts[e] for e in counts if 2.0 ** (e + 1 + shift) <= smallest / 2)


def plan(histograms, tolerance):
    result = {}
    for name in histograms:
        shift = fit(histograms[name], "bf16", 1)[1]
        bare, scaled = (lost(histograms[name], 2.0**-133, k) for k in (0, shift))
        result[name] = ["bf16", shift if scaled < bare else 0]
        for kind in ("e5m2", "e4m3", "e2m1"):
            good, shift = fit(histograms[name], kind, tolerance)
            if good:
                result[name] = [kind, shift]
    return result


def best_block(errors, element_bits, scale_bits, budget):
    rows = [
        (error, -size) for size, error in errors.items() if element_bits + scale_bits / size <= budget
    ]
    return -min(rows)[1] if rows else None
