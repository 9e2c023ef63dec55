# message: the class that was given was changed
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    kind = torch.float32 if wide else None
    fwd = torch.amp.custom_fwd(function.forward, device_type="cpu", cast_inputs=kind)
    function.forward = staticmethod(fwd)
    bwd = torch.amp.custom_bwd(function.backward, device_type="cpu")
    function.backward = staticmethod(bwd)
    return function
