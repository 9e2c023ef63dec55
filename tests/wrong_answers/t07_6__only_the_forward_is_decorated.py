# message: inside of a region, too, the backward runs without autocast
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if wide else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(function.backward)

    return Mended
