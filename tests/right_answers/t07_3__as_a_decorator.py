def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""

    @torch.autocast("cpu", enabled=False)
    def island(*inputs):
        return f(*inputs)

    wide = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
    return island(*(x.to(wide.get(x.dtype, x.dtype)) for x in tensors))
