def kept(stage, ranks, parameters, each, activations):
    share = math.ceil(parameters / ranks) if parameters % ranks else parameters // ranks
    lengths = [parameters] * 3
    for k in range(stage):
        lengths[2 - k] = share
    return [length * size for length, size in zip(lengths, each, strict=True)] + [activations]


def first_fit(ranks, parameters, each, activations, limit):
    stage = 0
    while sum(kept(stage, ranks, parameters, each, activations)) > limit:
        stage += 1
        if stage == 4:
            return None
    return stage
