# message: the casts are gone when the optimizer steps
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + 2 * recipe.casts + recipe.gradients + 4 * recipe.copied
