# message: an FP16 accumulator loses
import numpy as np


def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = np.float16(C[i][j])
            for k in range(4):
                total = np.float16(total + np.float32(A[i][k]) * np.float32(B[k][j]))
            D[i].append(float(total))
    return D
