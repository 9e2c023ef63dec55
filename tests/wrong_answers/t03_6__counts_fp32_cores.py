# message: those are the FP32 cores
def peak(sheet, width):
    fma_per_clock = sheet.sms * sheet.fp32_cores * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000


def padded(size, width):
    group = 128 // width
    return math.ceil(size / group) * group
