# message: enabled=False alone casts nothing
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    def quiet(ctx, *tensors):
        with torch.autocast("cpu", enabled=False):
            return function.forward(ctx, *tensors)

    kind = None
    plain = quiet if wide else function.forward
    fwd = torch.amp.custom_fwd(plain, device_type="cpu", cast_inputs=kind)

    def bwd(ctx, g):
        with torch.autocast("cpu", dtype=ctx._dtype, enabled=ctx._fwd_used_autocast and not wide):
            return function.backward(ctx, g)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
