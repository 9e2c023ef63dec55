# message: FP32 arithmetic rounds to nearest
def block_fma(A, B, C):
    def cut(x):
        near = fp32(x)
        if abs(near) > abs(x):
            code = struct.unpack(">I", struct.pack(">f", near))[0]
            near = struct.unpack(">f", struct.pack(">I", code - 1))[0]
        return near

    D = []
    for i in range(4):
        D.append([])
        for j in range(4):
            total = C[i][j]
            for k in range(4):
                total = cut(total + A[i][k] * B[k][j])
            D[i].append(total)
    return D
