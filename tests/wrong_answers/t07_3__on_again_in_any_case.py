# message: autocast was switched on where it had been off
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    low = (torch.float16, torch.bfloat16)
    torch.set_autocast_enabled("cpu", False)
    try:
        return f(*[x.float() if x.dtype in low else x for x in tensors])
    finally:
        torch.set_autocast_enabled("cpu", True)
