# message: a recipe without autocast makes none
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    forward = kept + 2 * (recipe.casts or recipe.masters)
    return forward, kept + recipe.gradients + 4 * recipe.copied
