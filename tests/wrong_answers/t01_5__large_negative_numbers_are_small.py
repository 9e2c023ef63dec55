# message: the gap depends on |x|
from math import frexp


def finer(x):
    if x >= 65504:
        return "bf16"
    exponent = frexp(x)[1] - 1
    fp16, bf16 = max(exponent, -14) - 10, exponent - 7
    if fp16 == bf16:
        return "same"
    return "fp16" if fp16 < bf16 else "bf16"
