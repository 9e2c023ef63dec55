# message: that is the whole graph: in the forward pass keep x alone
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, reason):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.output = run(ctx.x)
        return ctx.output.detach()

    @staticmethod
    def backward(ctx, gradient):
        ctx.output.backward(gradient)
        return None, ctx.x.grad, None
