# message: hides that some layers wait
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
    times = []
    for recipe in (before, after):
        peak = device["fp16"] if recipe == "amp" else device.get(recipe, device["fp32"])
        arithmetic = sum(x["flops"] for x in layers) / (peak * 1e12)
        moved = [x | {"kind": "optimizer" if x["kind"] == "optimizer" else "other"} for x in layers]
        times.append(max(arithmetic, sum(least_time(x, device, recipe) for x in moved)))
    return times[0] / times[1]
