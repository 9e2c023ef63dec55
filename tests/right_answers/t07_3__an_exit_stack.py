def in_fp32(f, *tensors):
    """Return f(*tensors), computed in FP32."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        if torch.is_autocast_enabled("cpu"):
            stack.enter_context(torch.autocast("cpu", enabled=False))
        return f(
            *(x.float() if x.dtype.itemsize == 2 and x.is_floating_point() else x for x in tensors)
        )
