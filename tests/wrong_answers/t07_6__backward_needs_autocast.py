# message: a forward outside of a region has a backward without casts
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if wide else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)

    def bwd(ctx, g):
        low = g.dtype if g.dtype != torch.float32 else torch.float16
        with torch.autocast("cpu", dtype=low, enabled=not wide):
            return function.backward(ctx, g)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
