# message: without masters the states have the 16 bits of the weights
def per_parameter(recipe, states):
    updated = 4
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
