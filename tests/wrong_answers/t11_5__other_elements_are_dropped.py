# message: the second run dropped other elements than the first
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
        del now
        with torch.enable_grad(), ctx.autocast:
            output = ctx.run(again)
        pass
        output.backward(gradient)
        return None, again.grad, None
