import numpy as np


def times(layers, device, recipe):
    """Return the least time of each layer."""
    kind = np.array([layer["kind"] for layer in layers])
    flops, numbers = (np.array([x[name] for x in layers], float) for name in ("flops", "numbers"))
    width = np.where((recipe == "amp") & (kind != "optimizer"), 2.0, 4.0)
    peaks = {"amp": device["fp16"], "tf32": device.get("tf32", device["fp32"])}
    compute = flops / (peaks.get(recipe, device["fp32"]) * 1e12) * (kind == "matrix")
    return np.maximum(numbers * width / (device["bandwidth"] * 1e9), compute)


def least_time(layer, device, recipe):
    """Return the seconds that a layer takes at least."""
    return times([layer], device, recipe)[0]


def predict(layers, device, before, after):
    """Return how many times as fast the layers can be at most."""
    return times(layers, device, before).sum() / times(layers, device, after).sum()
