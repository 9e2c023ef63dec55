import torch


def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = torch.tensor(x, dtype=torch.float32).view(torch.int32)
    if rounded:
        code = code + 4096
    return (code & -8192).view(torch.float32).item()
