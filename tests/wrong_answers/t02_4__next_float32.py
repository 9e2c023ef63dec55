# message: FP32 can still tell that number
def witness(code):
    middle = np.float32((value(code) + value(code + 1)) / 2)
    side = -np.inf if code % 2 else np.inf
    return repr(float(np.nextafter(middle, np.float32(side))))
