def per_parameter(recipe, states):
    always = [recipe.weights]
    if recipe.masters:
        always.append(4)
    always += [always[-1]] * states
    passing = [2] if recipe.casts else []
    arriving = [recipe.gradients] + ([4] if recipe.copied else [])
    return sum(always + passing), sum(always + arriving)
