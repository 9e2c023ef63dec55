# message: that is in GFLOP/s
def peak(sheet, width):
    fma_per_clock = sheet.sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz


def padded(size, width):
    group = 128 // width
    return math.ceil(size / group) * group
