# message: the sum starts at C
def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = 0.0
            for k in range(4):
                total = fp32(total + A[i][k] * B[k][j])
            D[i].append(total)
    return D
