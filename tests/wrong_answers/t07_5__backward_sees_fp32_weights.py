# message: the forward pass saw x and w in FP16
def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    g = g.float()
    return (g @ w.float()).to(x.dtype), (g.T @ x.float()).to(w.dtype)


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    if low == "float32":
        return "nothing"
    if part in ("forward", "evaluation"):
        return "autocast"
    return "scaler" if low == "float16" else "nothing"
