# message: the backward ran in float16
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if wide else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)

    def bwd(ctx, g):
        with torch.autocast("cpu", dtype=torch.float16, enabled=ctx._fwd_used_autocast):
            return function.backward(ctx, g)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
