def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""
    cast = torch.float32 if wide else None

    class Mended(function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast)
        def forward(ctx, *tensors):
            return function.forward(ctx, *tensors)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return function.backward(ctx, g)

    return Mended
