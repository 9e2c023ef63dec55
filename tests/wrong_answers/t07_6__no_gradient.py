# message: no gradient arrived
def mend(function, wide):
    """Return a Function that does what `function` does, right under autocast."""

    class Mended:
        @staticmethod
        def apply(*tensors):
            region = torch.is_autocast_enabled("cpu")
            with torch.autocast("cpu", enabled=region and not wide):
                lows = (torch.float16, torch.bfloat16)
                inputs = [x.float() if region and wide and x.dtype in lows else x for x in tensors]
                result = function.apply(*[x.detach() for x in inputs])
            return result.requires_grad_()

    return Mended
