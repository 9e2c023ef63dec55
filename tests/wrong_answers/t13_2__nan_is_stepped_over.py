# message: a NaN is no inf, and must be found as well
def seen(engine, gradients):
    sums = [sum(column) for column in zip(*gradients, strict=True)]
    bad = [not math.isfinite(x) for x in sums]
    ranks = len(gradients)
    if engine == "sharded":
        size = len(sums) // ranks
        return [any(bad[r * size : (r + 1) * size]) for r in range(ranks)]
    return [any(bad)] * ranks


def agreed_step(ranks, lr):
    found = [any(math.isinf(g) for g in gradients) for _, gradients, _ in ranks]
    if any(found):
        return [(weights, scale / 2) for weights, _, scale in ranks]
    return [
        ([w - lr * g / scale for w, g in zip(weights, gradients, strict=True)], scale)
        for weights, gradients, scale in ranks
    ]
