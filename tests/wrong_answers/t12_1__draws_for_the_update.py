# message: draw for the sum
def updated(w, updates, how, draws):
    """Return the BF16 weight after each update, as a list of floats."""
    kept, weights = w, []
    for update, draw in zip(updates, draws, strict=True):
        if how == "stochastic":
            update = number_of(bits(update) + draw & 0xFFFF0000)
        code = bits(kept + update)
        nearest = code + 0x7FFF + (code >> 16 & 1)
        rounded = nearest
        weights.append(number_of(rounded & 0xFFFF0000))
        kept = number_of(code) if how == "master" else weights[-1]
    return weights
