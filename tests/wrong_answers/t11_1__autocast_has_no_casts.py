# message: autocast holds a 16-bit copy of each weight as well
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept, kept + recipe.gradients + 4 * recipe.copied
