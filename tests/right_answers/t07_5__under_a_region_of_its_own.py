def linear_backward(x, w, g, low):
    """Return the gradients of x and w for F.linear(x, w) under autocast."""
    with torch.autocast("cpu", dtype=low):
        for_x = torch.mm(g, w)
        for_w = torch.mm(x.mT, g).mT
    return for_x.type_as(x), for_w.type_as(w).contiguous()


def needs(part, low):
    """Return what a part of a training step needs: "autocast", "scaler" or "nothing"."""
    gradients = part in ("backward", "step")
    if low == "float32" or (gradients and low == "bfloat16"):
        return "nothing"
    return ("autocast", "scaler")[gradients]
