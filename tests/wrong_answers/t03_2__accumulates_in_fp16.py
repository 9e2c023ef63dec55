# message: not FP16's 11
import numpy as np


def block_sum(a, b, c, F):
    total = np.float16(c)
    for x, y in zip(a, b):
        total = np.float16(np.float64(total) + x * y)
    return float(total)
