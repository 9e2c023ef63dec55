# message: FP32 inputs are not enough
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    def wide(ctx, *tensors):
        if wide and torch.is_autocast_enabled("cpu"):
            tensors = [x if x.dtype == torch.float64 else x.float() for x in tensors]
        return function.forward(ctx, *tensors)

    fwd = torch.amp.custom_fwd(wide, device_type="cpu")
    bwd = torch.amp.custom_bwd(function.backward, device_type="cpu")

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
