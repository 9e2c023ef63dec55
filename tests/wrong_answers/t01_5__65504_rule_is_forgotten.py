# message: from 65504 on FP16 has no next number
from math import frexp


def finer(x):
    exponent = frexp(x)[1] - 1
    fp16, bf16 = max(exponent, -14) - 10, exponent - 7
    if fp16 == bf16:
        return "same"
    return "fp16" if fp16 < bf16 else "bf16"
