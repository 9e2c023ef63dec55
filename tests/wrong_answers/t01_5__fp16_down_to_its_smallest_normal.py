# message: 2^-14 is not the end of FP16
def finer(x):
    return "fp16" if 2**-14 <= abs(x) < 65504 else "bf16"
