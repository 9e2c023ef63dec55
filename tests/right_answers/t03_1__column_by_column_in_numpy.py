import numpy as np


def block_fma(A, B, C):
    A, B, D = np.float32(A), np.float32(B), np.float32(C)
    for k in range(4):
        D = D + A[:, k, None] * B[None, k]  # products are exact in FP32
    return D
