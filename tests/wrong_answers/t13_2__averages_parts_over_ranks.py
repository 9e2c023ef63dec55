# message: each rank's gradients belong to it alone
def seen(engine, gradients):
    sums = [sum(column) for column in zip(*gradients, strict=True)]
    bad = [not math.isfinite(x) for x in sums]
    ranks = len(gradients)
    if engine == "sharded":
        size = len(sums) // ranks
        return [any(bad[r * size : (r + 1) * size]) for r in range(ranks)]
    return [any(bad)] * ranks


def agreed_step(ranks, lr):
    columns = zip(*(gradients for _, gradients, _ in ranks), strict=True)
    mean = [sum(column) / len(ranks) for column in columns]
    if not all(map(math.isfinite, mean)):
        return [(weights, scale / 2) for weights, _, scale in ranks]
    return [
        ([w - lr * g / scale for w, g in zip(weights, mean, strict=True)], scale)
        for weights, _, scale in ranks
    ]
