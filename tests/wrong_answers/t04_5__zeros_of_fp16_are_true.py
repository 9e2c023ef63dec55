# message: a zero of FP16 is a true one only if
def sort_zeros(half, single, scale):
    return int((half == 0).sum()), 0, 0
