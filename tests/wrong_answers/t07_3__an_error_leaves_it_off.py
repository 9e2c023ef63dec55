# message: autocast stayed off after an error
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    low, before = (torch.float16, torch.bfloat16), torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    result = f(*[x.float() if x.dtype in low else x for x in tensors])
    torch.set_autocast_enabled("cpu", before)
    return result
