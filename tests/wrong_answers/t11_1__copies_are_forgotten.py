# message: the FP32 copies of the gradients take 4 bytes more
def per_parameter(recipe, states):
    updated = 4 if recipe.masters else recipe.weights
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients
