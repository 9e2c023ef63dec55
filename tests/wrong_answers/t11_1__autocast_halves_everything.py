# message: autocast halves neither weights nor gradients nor states
def per_parameter(recipe, states):
    weights, gradients = recipe.weights, recipe.gradients
    if recipe.casts:
        weights = gradients = 2
    updated = 4 if recipe.masters else weights
    kept = weights + 4 * recipe.masters + states * updated
    return kept, kept + gradients + 4 * recipe.copied
