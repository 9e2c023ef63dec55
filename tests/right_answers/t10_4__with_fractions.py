from fractions import Fraction


def least_time(layer, device, recipe):
    """Return the seconds that a layer takes at least."""
    short = recipe == "amp" and layer["kind"] in ("matrix", "other")
    moved = Fraction(layer["numbers"]) * (2 if short else 4)
    seconds = [moved / (Fraction(device["bandwidth"]) * 10**9)]
    if layer["kind"] == "matrix":
        name = "fp16" if recipe == "amp" else recipe
        peak = Fraction(device[name if name in device else "fp32"])
        seconds.append(Fraction(layer["flops"]) / (peak * 10**12))
    return float(max(seconds))


def predict(layers, device, before, after):
    """Return how many times as fast the layers can be at most."""
    total = {r: sum(least_time(layer, device, r) for layer in layers) for r in (before, after)}
    return total[before] / total[after] if before != after else 1.0
