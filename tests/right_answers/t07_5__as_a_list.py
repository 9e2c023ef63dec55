def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    products = [g.matmul(w.to(low)), torch.einsum("no,ni->oi", g, x.to(low))]
    return [value.to(tensor.dtype) for value, tensor in zip(products, (x, w), strict=True)]


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    if low == "float32":
        return "nothing"
    match part, low:
        case (("forward" | "evaluation"), _):
            return "autocast"
        case _, "float16":
            return "scaler"
    return "nothing"
