# message: no gradient arrived
def mend(function, in_fp32):
    """Return a Function that does what `function` does, right under autocast."""

    class Mended:
        @staticmethod
        def apply(*tensors):
            with torch.autocast("cpu", enabled=torch.is_autocast_enabled("cpu") and not in_fp32):
                lows = (torch.float16, torch.bfloat16)
                inputs = [x.float() if in_fp32 and x.dtype in lows else x for x in tensors]
                result = function.apply(*[x.detach() for x in inputs])
            return result.requires_grad_()

    return Mended
