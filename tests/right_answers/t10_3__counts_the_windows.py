def positions(size, window, stride, padding):
    """Return at how many places a window fits."""
    return len(range(0, size + 2 * padding - window + 1, stride))


def conv_cost(x, weight, stride, padding, width):
    """Return (operations, bytes) of a convolution's forward pass; shapes as tuples."""
    (n, c, h, w), (k, _, r, s) = x, weight
    places = n * positions(h, r, stride, padding) * positions(w, s, stride, padding)
    weights = k * c * r * s
    return places * weights * 2, (n * c * h * w + weights + places * k) * width


def moved(op, shape, width):
    """Return the bytes that a "relu", an "add" or a "batch norm" moves, forward."""
    reads = {"relu": 1, "add": 2, "batch norm": 2}
    numbers = 1
    for size in shape:
        numbers *= size
    return (reads[op] + 1) * numbers * width
