# message: that was cast, though no region was there
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    def fwd(ctx, *tensors):
        ctx.low = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
        kind = torch.float32 if wide else ctx.low or torch.float16
        with torch.autocast("cpu", enabled=False):
            return function.forward(
                ctx, *[x if x.dtype == torch.float64 else x.to(kind) for x in tensors]
            )

    def bwd(ctx, g):
        with torch.autocast("cpu", enabled=False):
            return function.backward(ctx, g)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
