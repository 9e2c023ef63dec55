# message: E4M3 has no infinity
def plan(histograms, tolerance):
    """Return for each tensor the format and the exponent of its scale."""
    chosen = {}
    for name, counts in histograms.items():
        top = max(counts)
        rescued = any(e < -134 <= e + 126 - top for e in counts)
        chosen[name] = ("bf16", (126 - top) * rescued)
        for kind, (smallest, largest) in list(RANGES.items())[:3]:
            shift = largest - 1 - (kind == "e4m3") - max(counts)
            lost = sum(n for exponent, n in counts.items() if exponent + shift + 1 < smallest)
            if lost <= tolerance * sum(counts.values()):
                chosen[name] = (kind, shift)
                break
    return chosen


def best_block(errors, element_bits, scale_bits, budget):
    """Return the block size with the smallest error in the budget."""
    legal = [n for n in errors if element_bits + scale_bits / n <= budget]
    return min(legal, key=lambda n: (errors[n], -n), default=None)
