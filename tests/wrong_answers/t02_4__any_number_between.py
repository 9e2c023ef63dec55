# message: FP32 can still tell that number
def witness(code):
    low, high = value(code), value(code + 1)
    share = 0.4 if code % 2 else 0.6
    return repr(low + share * (high - low))
