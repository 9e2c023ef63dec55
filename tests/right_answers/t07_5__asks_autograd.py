def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    inputs = [v.detach().requires_grad_() for v in (x, w)]
    with torch.enable_grad():
        y = F.linear(*[v.to(low) for v in inputs])
    return torch.autograd.grad(y, inputs, g)


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    table = {
        "forward": ("autocast", "autocast"),
        "evaluation": ("autocast", "autocast"),
        "backward": ("scaler", "nothing"),
        "step": ("scaler", "nothing"),
    }
    both = dict(zip(("float16", "bfloat16"), table[part], strict=True))
    return both.get(low, "nothing")
