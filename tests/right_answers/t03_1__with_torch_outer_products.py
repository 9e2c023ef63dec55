import torch


def block_fma(A, B, C):
    A, B, D = (torch.tensor(X, dtype=torch.float32) for X in (A, B, C))
    for k in range(4):
        D = D + torch.outer(A[:, k], B[k])
    return D.tolist()
