# message: 2^-14 is not where FP16 gives up
def finer(x):
    return "fp16" if 2**-14 <= abs(x) <= 65504 else "bf16"
