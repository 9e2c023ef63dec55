# message: the gradient has a scale, too
def forward(x, w, scales):
    """Return x @ w.T from E4M3 operands, summed in FP32."""
    x8 = to_fp8(x * scales["x"], "e4m3")
    w8 = to_fp8(w * scales["w"], "e4m3")
    return x8 @ w8.T / (scales["x"] * scales["w"])


def backward(x, w, g, scales):
    """Return the gradients of x and of w."""
    x8 = to_fp8(x * scales["x"], "e4m3")
    w8 = to_fp8(w * scales["w"], "e4m3")
    g8 = to_fp8(g, "e5m2")
    dx = g8 @ w8 / scales["w"]
    dw = g8.T @ x8 / scales["x"]
    return dx, dw
