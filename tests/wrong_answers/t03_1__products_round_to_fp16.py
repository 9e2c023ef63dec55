# message: the product of two FP16 numbers
import numpy as np


def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = np.float32(C[i][j])
            for k in range(4):
                product = np.float16(A[i][k]) * np.float16(B[k][j])
                total = total + np.float32(product)
            D[i].append(float(total))
    return D
