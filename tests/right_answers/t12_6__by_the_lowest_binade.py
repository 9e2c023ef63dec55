def plan(histograms, tolerance):
    found = {}
    for name, counts in histograms.items():
        top, total = max(counts), sum(counts.values())
        bare, scaled = -134, top - 260  # the lowest binades that bf16 keeps
        answer = "bf16", 126 - top if any(scaled <= e < bare for e in counts) else 0
        for kind, span in (("e5m2", 32), ("e4m3", 18), ("e2m1", 4)):
            kept = sum(n for e, n in counts.items() if e > top - span)
            if total - kept <= tolerance * total:
                answer = kind, RANGES[kind][1] - 1 - top
        found[name] = answer
    return found


def best_block(errors, element_bits, scale_bits, budget):
    best = None
    for size in sorted(errors, reverse=True):
        if element_bits * size + scale_bits > budget * size:
            continue
        if best is None or errors[size] < errors[best]:
            best = size
    return best
