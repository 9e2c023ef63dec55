# message: the copies replace nothing
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + (4 if recipe.copied else recipe.gradients)
