# message: multiples of 16 are for 8 bits
def peak(sheet, width):
    fma_per_clock = sheet.sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000


def padded(size, width):
    group = 16
    return math.ceil(size / group) * group
