# message: the size of an FP32 number only
def size(count, bits):
    return 4 * count
