# message: FP32 can still tell that number
def witness(code):
    middle = (value(code) + value(code + 1)) / 2
    side = np.float32(-np.inf if code % 2 else np.inf)
    return float(np.nextafter(np.float32(middle), side))
