# message: wrote over the first one's gradients
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, reason):
        ctx.run, ctx.autocast = run, same_autocast()
        ctx.random = torch.get_rng_state()
        ctx.save_for_backward(x)
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        [x] = ctx.saved_tensors
        again = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.random)
        with torch.enable_grad(), ctx.autocast:
            output = ctx.run(again)
        torch.set_rng_state(now)
        own = [p for p in ctx.run.parameters() if p.requires_grad]
        first, *rest = torch.autograd.grad(output, [again, *own], gradient)
        for p, g in zip(own, rest, strict=True):
            p.grad = g
        return None, first, None
