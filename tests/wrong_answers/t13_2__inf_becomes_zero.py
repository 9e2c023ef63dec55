# message: an inf that was set to 0 is forgotten
def seen(engine, gradients):
    sums = [sum(column) for column in zip(*gradients, strict=True)]
    bad = [not math.isfinite(x) for x in sums]
    ranks = len(gradients)
    if engine == "sharded":
        size = len(sums) // ranks
        return [any(bad[r * size : (r + 1) * size]) for r in range(ranks)]
    return [any(bad)] * ranks


def agreed_step(ranks, lr):
    found = [any(not math.isfinite(g) for g in gradients) for _, gradients, _ in ranks]
    scale_after = 0.5 if any(found) else 1
    return [
        (
            [
                w - lr * (g if math.isfinite(g) else 0) / scale
                for w, g in zip(weights, gradients, strict=True)
            ],
            scale * scale_after,
        )
        for weights, gradients, scale in ranks
    ]
