class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, reason):
        ctx.run, ctx.autocast = run, same_autocast()
        ctx.save_for_backward(x, torch.get_rng_state())
        return run(x)

    @staticmethod
    def backward(ctx, gradient):
        x, random = ctx.saved_tensors
        again = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(random)
        with torch.enable_grad(), ctx.autocast:
            output = ctx.run(again)
        torch.set_rng_state(now)
        output.backward(gradient)
        return None, again.grad, None
