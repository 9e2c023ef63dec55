# message: a set is asked for
def troubles(apex, level, keep_batchnorm_fp32, loss_scale, half, clip, inside, largest):
    if apex == "PyPI" or apex >= "2025-05-08":
        return ["no amp"]
    defaults = {"O0": 1.0, "O1": "dynamic", "O2": "dynamic", "O3": 1.0}
    if level not in defaults or half or (level == "O1" and keep_batchnorm_fp32 is not None):
        return ["refused"]
    scale = defaults[level] if loss_scale is None else loss_scale
    found = {"stall"} if level == "O3" else set()
    if level != "O0" and scale == 1:
        found.add("flush")
    if level != "O0" and scale != "dynamic" and largest * scale >= 65520:
        found.add("overflow")
    wrong = clip == "model" or inside if level == "O2" else inside and scale != 1
    return sorted(found | {"clip"} if clip and wrong else found)
