# message: float64 is wider than float32: custom_fwd leaves it alone
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    class Mended(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.low = torch.get_autocast_dtype("cpu")
            ctx.on = torch.is_autocast_enabled("cpu") and not wide
            if wide and torch.is_autocast_enabled("cpu"):
                tensors = [x.float() if x.is_floating_point() else x for x in tensors]
            with torch.autocast("cpu", dtype=ctx.low, enabled=ctx.on):
                return function.forward(ctx, *tensors)

        @staticmethod
        def backward(ctx, g):
            with torch.autocast("cpu", dtype=ctx.low, enabled=ctx.on):
                return function.backward(ctx, g)

    return Mended
