# message: two types met in the backward
def mend(function, in_fp32):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if in_fp32 else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(function.backward)

    return Mended
