# message: FP32 holds the middle exactly
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    return repr(middle)
