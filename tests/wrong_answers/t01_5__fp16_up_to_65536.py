# message: FP16 has no numbers beyond 65504
def finer(x):
    x = abs(x)
    if x >= 65536 or x < 2.0**-17:
        return "bf16"
    return "same" if x < 2.0**-16 else "fp16"
