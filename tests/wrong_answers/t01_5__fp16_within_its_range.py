# message: below 2^-14 the gap of FP16 stays the same
def finer(x):
    return "fp16" if abs(x) < 65504 else "bf16"
