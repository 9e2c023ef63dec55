def troubles(**facts):
    day, level, scale = facts["apex"], facts["level"], facts["loss_scale"]
    if not ("2000" < day < "2025-05-08"):
        return {"no amp"}
    known = level in {"O0", "O1", "O2", "O3"}
    contradiction = level == "O1" and facts["keep_batchnorm_fp32"] in (True, False)
    if not known or facts["half"] or contradiction:
        return {"refused"}
    if scale is None:
        scale = "dynamic" if level in {"O1", "O2"} else 1.0
    half, fixed = level != "O0", scale != "dynamic"
    seen = {
        "scaled": facts["inside"] and (not fixed or scale != 1.0),
        "elsewhere": level == "O2" and (facts["clip"], facts["inside"]) != ("masters", False),
    }
    tests = {
        "flush": half and fixed and scale == 1.0,
        "overflow": half and fixed and facts["largest"] * float(scale) >= 65504 + 16,
        "stall": level == "O3",
        "clip": facts["clip"] is not None and any(seen.values()),
    }
    return {word for word, applies in tests.items() if applies}
