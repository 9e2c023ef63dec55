# message: a number that BF16 has never moves
def updated(w, updates, how, draws):
    """Return the BF16 weight after each update, as a list of floats."""
    kept, weights = w, []
    for update, draw in zip(updates, draws, strict=True):
        code = bits(kept + update)
        nearest = code + 0x7FFF + (code >> 16 & 1)
        rounded = code + draw + 1 if how == "stochastic" else nearest
        weights.append(number_of(rounded & 0xFFFF0000))
        kept = number_of(code) if how == "master" else weights[-1]
    return weights
