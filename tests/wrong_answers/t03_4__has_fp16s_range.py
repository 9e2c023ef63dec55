# message: but FP32's range
import numpy as np


def to_tf32(x, rounded=False):
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float16(x))
