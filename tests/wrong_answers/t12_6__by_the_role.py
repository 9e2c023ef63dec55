# message: what a tensor is called
def plan(histograms, tolerance):
    """Return for each tensor the format and the exponent of its scale."""
    chosen = {}
    for name, counts in histograms.items():
        top = max(counts)
        rescued = any(e < -134 <= e + 126 - top for e in counts)
        chosen[name] = ("bf16", (126 - top) * rescued)
        usual = {"gradients": "e5m2", "weights": "e4m3", "activations": "e4m3"}
        for kind in (usual.get(name, "e4m3"),):
            smallest, largest = RANGES[kind]
            shift = largest - 1 - max(counts)
            chosen[name] = (kind, shift)
    return chosen


def best_block(errors, element_bits, scale_bits, budget):
    """Return the block size with the smallest error in the budget."""
    legal = [n for n in errors if element_bits + scale_bits / n <= budget]
    return min(legal, key=lambda n: (errors[n], -n), default=None)
