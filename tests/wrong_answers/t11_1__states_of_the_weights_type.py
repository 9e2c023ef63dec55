# message: the optimizer updates the masters, so its states are in FP32
def per_parameter(recipe, states):
    updated = recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
