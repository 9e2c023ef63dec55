# message: the region's type is not always float16
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if wide else torch.float16
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)
    bwd = torch.amp.custom_bwd(function.backward, device_type="cpu")

    class Mended(torch.autograd.Function):
        forward, backward = staticmethod(fwd), staticmethod(bwd)

    return Mended
