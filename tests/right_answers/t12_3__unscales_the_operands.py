def forward(x, w, scales):
    x, w = (to_fp8(v * scales[k], "e4m3") / np.float32(scales[k]) for k, v in (("x", x), ("w", w)))
    return x @ w.T


def backward(x, w, g, scales):
    x, w = (to_fp8(v * scales[k], "e4m3") / np.float32(scales[k]) for k, v in (("x", x), ("w", w)))
    g = to_fp8(g * scales["g"], "e5m2") / np.float32(scales["g"])
    return g @ w, g.T @ x
