def lint(config, ranks):
    findings = []
    batch = config.get("train_batch_size")
    if batch is None:
        if "train_micro_batch_size_per_gpu" not in config:
            findings += ["batch"]
    else:
        any_number = range(1, batch + 1)
        micros = [config.get("train_micro_batch_size_per_gpu")]
        steps = [config.get("gradient_accumulation_steps")]
        micros = any_number if micros == [None] else micros
        steps = any_number if steps == [None] else steps
        if not any(batch == m * s * ranks for m in micros for s in steps):
            findings.append("batch")
    fp16 = config.get("fp16") or {}
    bf16 = config.get("bf16") or {}
    half = bool(fp16.get("enabled", False))
    if not set(bf16).isdisjoint(SCALE_FIELDS):
        findings.append("bf16 scale")
    if half and bf16.get("enabled", False):
        findings.append("both types")
    try:
        config["gradient_clipping"]
    except KeyError:
        findings.append("clipping")
    if half and fp16.get("loss_scale", 0):
        findings.append("static scale")
    elif not half and not set(fp16).isdisjoint(SCALE_FIELDS):
        findings.append("fp16 off")
    findings.sort()
    return findings
