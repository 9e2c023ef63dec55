# message: that is row j of B
def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = C[i][j]
            for k in range(4):
                total = fp32(total + A[i][k] * B[j][k])
            D[i].append(total)
    return D
