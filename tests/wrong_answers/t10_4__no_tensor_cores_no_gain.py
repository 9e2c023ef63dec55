# message: fewer bytes still save time
def least_time(layer, device, recipe):
    """Return the seconds that a layer takes at least."""
    amp = recipe == "amp" and device["fp16"] > device["fp32"]
    width = 2 if amp and layer["kind"] != "optimizer" else 4
    memory = layer["numbers"] * width / (device["bandwidth"] * 1e9)
    if layer["kind"] != "matrix":
        return memory
    peak = device["fp16"] if amp else device.get(recipe, device["fp32"])
    return max(memory, layer["flops"] / (peak * 1e12))


def predict(layers, device, before, after):
    """Return the layers' least time with `before` over that with `after`."""
    first, second = (sum(least_time(x, device, r) for x in layers) for r in (before, after))
    return first / second
