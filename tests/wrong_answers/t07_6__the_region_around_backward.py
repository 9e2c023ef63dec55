# message: a region of the other type around backward() does not count
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    class Mended(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.low = torch.get_autocast_dtype("cpu")
            ctx.region = torch.is_autocast_enabled("cpu") and not wide
            if wide and torch.is_autocast_enabled("cpu"):
                lows = (torch.float16, torch.bfloat16)
                tensors = [x.float() if x.dtype in lows else x for x in tensors]
            with torch.autocast("cpu", dtype=ctx.low, enabled=ctx.region):
                return function.forward(ctx, *tensors)

        @staticmethod
        def backward(ctx, g):
            ctx.region = ctx.region or (torch.is_autocast_enabled("cpu") and not wide)
            if torch.is_autocast_enabled("cpu"):
                ctx.low = torch.get_autocast_dtype("cpu")
            with torch.autocast("cpu", dtype=ctx.low, enabled=ctx.region):
                return function.backward(ctx, g)

    return Mended
