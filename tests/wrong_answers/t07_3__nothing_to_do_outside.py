# message: outside of a region, and in an island, 16 bits are to be cast, too
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    if not torch.is_autocast_enabled("cpu"):
        return f(*tensors)
    low = (torch.float16, torch.bfloat16)
    with torch.autocast("cpu", enabled=False):
        return f(*[x.float() if x.dtype in low else x for x in tensors])
