def conv_cost(x, weight, stride, padding, width):
    """Return (operations, bytes) of a convolution's forward pass; shapes as tuples."""
    n, c, h, w = x
    k, _, r, s = weight
    p, q = ((size + 2 * padding - f) // stride + 1 for size, f in ((h, r), (w, s)))
    outputs = n * k * p * q
    numbers = n * c * h * w + k * c * r * s + outputs
    return 2.0 * outputs * c * r * s, float(width * numbers)


def moved(op, shape, width):
    """Return the bytes that a "relu", an "add" or a "batch norm" moves, forward."""
    n, c, h, w = shape
    return {"relu": 2, "add": 3, "batch norm": 3}[op] * n * c * h * w * width
