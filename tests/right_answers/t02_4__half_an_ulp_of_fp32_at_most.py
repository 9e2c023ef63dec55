def witness(code):
    middle = np.float32((value(code) + value(code + 1)) / 2)
    toward = np.float32(value(code) if code % 2 else value(code + 1))
    beside = np.nextafter(middle, toward)
    return float(middle) + (float(beside) - float(middle)) / 2
