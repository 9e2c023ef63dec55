# message: the ratio of peaks holds for matrix layers above the ridge only
def least_time(layer, device, recipe):
    """Return the seconds that a layer takes at least."""
    amp = recipe == "amp"
    width = 2 if amp and layer["kind"] != "optimizer" else 4
    memory = layer["numbers"] * width / (device["bandwidth"] * 1e9)
    if layer["kind"] != "matrix":
        return memory
    peak = device["fp16"] if amp else device.get(recipe, device["fp32"])
    return max(memory, layer["flops"] / (peak * 1e12))


def predict(layers, device, before, after):
    """Return how many times as fast the layers can be at most."""
    names = {"amp": "fp16", "tf32": "tf32", "fp32": "fp32"}
    return device.get(names[after], device["fp32"]) / device.get(names[before], device["fp32"])
