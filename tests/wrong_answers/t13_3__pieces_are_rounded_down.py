# message: a piece that is rounded down loses parameters
def kept(stage, ranks, parameters, each, activations):
    share = parameters // ranks
    weights, gradients, states = each
    return (
        weights * (share if stage >= 3 else parameters),
        gradients * (share if stage >= 2 else parameters),
        states * (share if stage >= 1 else parameters),
        activations,
    )


def first_fit(ranks, parameters, each, activations, limit):
    for stage in range(4):
        if sum(kept(stage, ranks, parameters, each, activations)) <= limit:
            return stage
    return None
