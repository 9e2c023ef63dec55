# message: FP32 can still tell that number
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    gap = value(code + 1) - value(code)
    return middle + (-0.1 if code % 2 else 0.1) * gap
