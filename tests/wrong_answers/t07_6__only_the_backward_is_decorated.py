# message: custom_bwd runs by what custom_fwd has noted
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    fwd = function.forward
    if wide:
        fwd = torch.amp.custom_fwd(fwd, device_type="cpu", cast_inputs=torch.float32)
    bwd = torch.amp.custom_bwd(function.backward, device_type="cpu")

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
