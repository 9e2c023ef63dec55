# message: float64 is wider than float32
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    with torch.autocast("cpu", enabled=False):
        return f(*[x.float() if x.is_floating_point() else x for x in tensors])
