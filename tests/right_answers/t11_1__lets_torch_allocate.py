def per_parameter(recipe, states):
    types = {2: torch.bfloat16, 4: torch.float32}

    def size(width):
        return torch.ones(10, dtype=types[width]).nbytes // 10

    master = size(4) if recipe.masters else 0
    state = states * (master or size(recipe.weights))
    both = size(recipe.weights) + master + state
    forward = both + (size(2) if recipe.casts else 0)
    step = both + size(recipe.gradients)
    if recipe.copied:
        step += size(4)
    return forward, step
