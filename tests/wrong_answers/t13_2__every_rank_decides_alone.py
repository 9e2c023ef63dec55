# message: a rank that decides alone drifts away
def seen(engine, gradients):
    sums = [sum(column) for column in zip(*gradients, strict=True)]
    bad = [not math.isfinite(x) for x in sums]
    ranks = len(gradients)
    if engine == "sharded":
        size = len(sums) // ranks
        return [any(bad[r * size : (r + 1) * size]) for r in range(ranks)]
    return [any(bad)] * ranks


def agreed_step(ranks, lr):
    after = []
    for weights, gradients, scale in ranks:
        if all(map(math.isfinite, gradients)):
            pairs = zip(weights, gradients, strict=True)
            after.append(([w - lr * g / scale for w, g in pairs], scale))
        else:
            after.append((weights, scale / 2))
    return after
