import numpy as np


def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = np.float32(x).view(np.uint32)
    half = np.uint32(0x1000 if rounded else 0)
    return float(((code + half) >> np.uint32(13) << np.uint32(13)).view(np.float32))
