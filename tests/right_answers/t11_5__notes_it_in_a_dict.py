class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, reason):
        kind, on = torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")
        ctx.note = {"run": run, "dtype": kind, "enabled": on, "random": torch.get_rng_state()}
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        note, here = ctx.note, torch.get_rng_state()
        inside = torch.empty_like(x).copy_(x).requires_grad_()
        try:
            torch.set_rng_state(note["random"])
            with torch.autocast("cpu", note["dtype"], note["enabled"]):
                with torch.set_grad_enabled(True):
                    result = note["run"](inside)
        finally:
            torch.set_rng_state(here)
        with torch.set_grad_enabled(True):
            (result * gradient).sum().backward()
        return None, inside.grad, None
