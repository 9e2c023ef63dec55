def training_bytes(recipe, states, count):
    master = recipe.startswith("master")
    half = master or recipe == "fp16"
    weight = gradient = 2 if half else 4
    updated = 2 if recipe == "fp16" else 4
    total = weight + gradient + states * updated
    if master:
        total += 4
    if recipe == "master_copied":
        total += 4
    return count * total, total / (8 + 4 * states)
