def block_fma(A, B, C):
    D = C
    for i, row in enumerate(A):
        for k, x in enumerate(row):
            for j in range(4):
                D[i][j] = fp32(D[i][j] + x * B[k][j])
    return D
