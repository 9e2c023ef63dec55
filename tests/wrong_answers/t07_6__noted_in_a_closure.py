# message: the last forward was noted for all of them
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    noted = {}

    class Mended(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            noted["low"] = torch.get_autocast_dtype("cpu")
            on = torch.is_autocast_enabled("cpu")
            noted["on"] = on and not wide
            if wide and on:
                lows = (torch.float16, torch.bfloat16)
                tensors = [x.float() if x.dtype in lows else x for x in tensors]
            with torch.autocast("cpu", dtype=noted["low"], enabled=noted["on"]):
                return function.forward(ctx, *tensors)

        @staticmethod
        def backward(ctx, g):
            with torch.autocast("cpu", dtype=noted["low"], enabled=noted["on"]):
                return function.backward(ctx, g)

    return Mended
