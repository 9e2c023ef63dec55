# message: k runs from 0 to 3
def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = C[i][j]
            for k in reversed(range(4)):
                total = fp32(total + A[i][k] * B[k][j])
            D[i].append(total)
    return D
