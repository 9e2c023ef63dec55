# message: FP32 can still tell that number
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    return middle - 1e-9 if code % 2 else middle + 1e-9
