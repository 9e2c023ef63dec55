# message: FP16's backward starts from the scaled loss
def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    return (g @ w.to(low)).to(x.dtype), (g.T @ x.to(low)).to(w.dtype)


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    if low == "float32":
        return "nothing"
    if part in ("forward", "evaluation"):
        return "autocast"
    return "scaler" if low == "float16" and part == "step" else "nothing"
