def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    class Mended(function):
        forward = torch.amp.custom_fwd(
            function.forward, device_type="cpu", cast_inputs=torch.float32 if wide else None
        )
        backward = torch.amp.custom_bwd(function.backward, device_type="cpu")

    return Mended
