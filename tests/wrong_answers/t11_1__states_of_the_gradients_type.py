# message: of the weight that is updated, not of its gradient
def per_parameter(recipe, states):
    updated = 4 if recipe.masters or recipe.gradients == 4 else 2
    kept = recipe.weights + 4 * recipe.masters + states * updated
    return kept + 2 * recipe.casts, kept + recipe.gradients + 4 * recipe.copied
