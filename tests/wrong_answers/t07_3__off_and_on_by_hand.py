# message: switched by hand: off for good after an error
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    low = (torch.float16, torch.bfloat16)
    torch.set_autocast_enabled("cpu", False)
    result = f(*[x.float() if x.dtype in low else x for x in tensors])
    torch.set_autocast_enabled("cpu", True)
    return result
