import datetime


def troubles(apex, level, keep_batchnorm_fp32, loss_scale, half, clip, inside, largest):
    try:
        day = datetime.date.fromisoformat(apex)
    except ValueError:
        return {"no amp"}
    if day > datetime.date(2025, 5, 7):
        return {"no amp"}
    if half or level not in ("O0", "O1", "O2", "O3"):
        return {"refused"}
    if level == "O1" and not keep_batchnorm_fp32 is None:
        return {"refused"}
    words = set()
    if loss_scale is None:
        loss_scale = {"O0": 1.0, "O1": "dynamic", "O2": "dynamic", "O3": 1.0}[level]
    if level != "O0" and loss_scale != "dynamic":
        if loss_scale == 1.0:
            words.add("flush")
        if torch.tensor(largest * loss_scale, dtype=torch.float64).to(torch.float16).isinf():
            words.add("overflow")
    if level == "O3":
        words.add("stall")
    if clip is None:
        return words
    if level == "O2":
        return words if clip == "masters" and not inside else words | {"clip"}
    return words | {"clip"} if inside and loss_scale != 1.0 else words
