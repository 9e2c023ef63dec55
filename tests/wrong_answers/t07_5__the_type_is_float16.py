# message: the region's type was bfloat16
def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    g, half = g.half(), torch.float16
    return (g @ w.to(half)).to(x.dtype), (g.T @ x.to(half)).to(w.dtype)


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    if low == "float32":
        return "nothing"
    if part in ("forward", "evaluation"):
        return "autocast"
    return "scaler" if low == "float16" else "nothing"
