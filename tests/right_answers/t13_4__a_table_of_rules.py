def lint(config, ranks):
    fp16, bf16 = ({"enabled": False, **config.get(name, {})} for name in ("fp16", "bf16"))

    def scaled(section):
        return any(field in section for field in SCALE_FIELDS)

    names = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
    batch, micro, steps = map(config.get, names)
    each = math.prod(n for n in (micro, steps, ranks) if n is not None)
    left_over = 0 if batch is None else batch % each
    whole = batch is None or micro is None or steps is None or batch == each
    rules = {
        "both types": fp16["enabled"] and bf16["enabled"],
        "batch": bool(left_over) or not whole or (batch is None and micro is None),
        "bf16 scale": scaled(bf16),
        "fp16 off": scaled(fp16) and not fp16["enabled"],
        "static scale": fp16["enabled"] and bool(fp16.get("loss_scale")),
        "clipping": config.get("gradient_clipping") is None,
    }
    return [code for code in sorted(rules) if rules[code]]
