import numpy as np


def peak(sheet, width):
    return float(np.prod([2, 16, sheet.fma, sheet.tensor_cores, sheet.sms]) / width * sheet.ghz / 1e3)


def padded(size, width):
    group = 128 // width
    return size + -size % group
