# message: the gradient ended in the island
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    low = (torch.float16, torch.bfloat16)
    with torch.autocast("cpu", enabled=False):
        return f(*[x.detach().float() if x.dtype in low else x for x in tensors])
