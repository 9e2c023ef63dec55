# message: FP32 can still tell that number
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    nudge = (value(code + 1) - value(code)) / 2**15
    return middle - nudge if code % 2 else middle + nudge
