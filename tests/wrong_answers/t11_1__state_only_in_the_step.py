# message: the states last from step to step
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return recipe.weights + 4 * recipe.masters + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
