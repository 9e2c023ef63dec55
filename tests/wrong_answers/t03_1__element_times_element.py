# message: element times element
def block_fma(A, B, C):
    return [[fp32(A[i][j] * B[i][j] + C[i][j]) for j in range(4)] for i in range(4)]
