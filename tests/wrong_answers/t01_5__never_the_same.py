# message: from 2^-17 up to 2^-16 both gaps
from math import frexp


def finer(x):
    if abs(x) >= 65504:
        return "bf16"
    exponent = frexp(x)[1] - 1
    return "fp16" if max(exponent, -14) - 10 <= exponent - 7 else "bf16"
