# message: worked out from the others, not taken as 1
def lint(config, ranks):
    codes = set()
    fp16, bf16 = config.get("fp16", {}), config.get("bf16", {})
    if fp16.get("enabled") and bf16.get("enabled"):
        codes.add("both types")
    if set(SCALE_FIELDS) & set(bf16):
        codes.add("bf16 scale")
    if set(SCALE_FIELDS) & set(fp16) and not fp16.get("enabled"):
        codes.add("fp16 off")
    if fp16.get("enabled") and fp16.get("loss_scale", 0) != 0:
        codes.add("static scale")
    if "gradient_clipping" not in config:
        codes.add("clipping")
    batch = config.get("train_batch_size")
    micro = config.get("train_micro_batch_size_per_gpu")
    steps = config.get("gradient_accumulation_steps")
    if batch is None:
        wrong = micro is None
    elif micro:
        wrong = batch != micro * (steps or 1) * ranks
    else:
        wrong = batch % ((micro or 1) * (steps or 1) * ranks) != 0
    if wrong:
        codes.add("batch")
    return sorted(codes)
