# message: the result was cast back to the type of the input
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    low = (torch.float16, torch.bfloat16)
    with torch.autocast(device_type="cpu", enabled=False):
        result = f(*[x.float() if x.dtype in low else x for x in tensors])
        return result.to(tensors[0].dtype) if isinstance(result, torch.Tensor) else result
