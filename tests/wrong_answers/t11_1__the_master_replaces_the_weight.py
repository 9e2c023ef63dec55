# message: still there beside its master
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = (4 if recipe.masters else recipe.weights) + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
