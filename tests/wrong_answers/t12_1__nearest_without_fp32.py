# message: this one becomes a tie there
def nearest(x):
    gap = 2.0 ** (max(math.frexp(x)[1] - 1, -126) - 7)
    return round(x / gap) * gap


def updated(w, updates, how, draws):
    """Return the BF16 weight after each update, as a list of floats."""
    kept, weights = w, []
    for update, draw in zip(updates, draws, strict=True):
        code = bits(kept + update)
        drawn = number_of((code + draw) & 0xFFFF0000)
        weights.append(drawn if how == "stochastic" else nearest(kept + update))
        if how == "master":
            weights[-1] = nearest(number_of(code))
        kept = number_of(code) if how == "master" else weights[-1]
    return weights
