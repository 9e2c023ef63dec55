# message: look at the sums: two finite numbers
def seen(engine, gradients):
    ranks, size = len(gradients), len(gradients[0])
    bad = {k for own in gradients for k in range(size) if not abs(own[k]) < inf}
    owners = {k * ranks // size for k in bad}
    return [r in owners if engine == "sharded" else bool(owners) for r in range(ranks)]


def agreed_step(ranks, lr):
    overflow = max(float(not abs(g) < inf) for _, gradients, _ in ranks for g in gradients)
    after = []
    for weights, gradients, scale in ranks:
        moved = list(weights)
        if not overflow:
            for k, gradient in enumerate(gradients):
                moved[k] -= lr * (gradient / scale)
        after.append((moved, scale * (1 - overflow / 2)))
    return after
