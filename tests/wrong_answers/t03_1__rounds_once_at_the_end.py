# message: a chain of FMAs rounds after every addition
def block_fma(A, B, C):
    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            D[i].append(fp32(C[i][j] + sum(A[i][k] * B[k][j] for k in range(4))))
    return D
