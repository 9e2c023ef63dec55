def kept(stage, ranks, parameters, each, activations):
    sizes = []
    for divided_from, size in zip((3, 2, 1), each, strict=True):
        parts = ranks if stage >= divided_from else 1
        sizes.append(size * ((parameters + parts - 1) // parts))
    return (*sizes, activations)


def first_fit(ranks, parameters, each, activations, limit):
    stages = range(4)
    fits = [s for s in stages if sum(kept(s, ranks, parameters, each, activations)) <= limit]
    return min(fits, default=None)
