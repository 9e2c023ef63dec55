import numpy as np


def troubles(**facts):
    match facts:
        case {"apex": apex} if "-" not in apex or tuple(map(int, apex.split("-"))) > (2025, 5, 7):
            return set(("no amp",))
        case {"half": True} | {"level": "O1", "keep_batchnorm_fp32": True | False}:
            return set(("refused",))
    levels = dict(O0=(1, 0, 0), O1=("dynamic", 1, 0), O2=("dynamic", 1, 0), O3=(1, 1, 1))
    try:
        own, low, stalls = levels[facts["level"]]
    except KeyError:
        return {"refused"}
    scale = facts["loss_scale"] or own
    words = {"stall"} - (set() if stalls else {"stall"})
    with np.errstate(over="ignore", under="ignore"):
        if low and scale != "dynamic":
            if np.float16(2.0**-26 * scale) == 0:
                words |= {"flush"}
            if np.isinf(np.float16(facts["largest"] * scale)):
                words |= {"overflow"}
    if facts["clip"]:
        too_early = facts["inside"] and (scale != 1 or facts["level"] == "O2")
        wrong_ones = facts["level"] == "O2" and facts["clip"] == "model"
        words |= {"clip"} if too_early or wrong_ones else set()
    return words
