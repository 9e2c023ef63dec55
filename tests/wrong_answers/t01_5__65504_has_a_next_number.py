# message: at 65504 FP16 has no next number
def finer(x):
    x = abs(x)
    if x > 65504 or x < 2.0**-17:
        return "bf16"
    return "same" if x < 2.0**-16 else "fp16"
