def witness(code):
    """Walk away from the middle until numpy disagrees with itself."""
    middle = (value(code) + value(code + 1)) / 2
    for side in (-1, 1):
        x = middle * (1 + side * 2.0**-45)
        with np.errstate(over="ignore"):
            once, twice = np.float16(x), np.float16(np.float32(x))
        if once != twice:
            return x
    raise ValueError(code)
