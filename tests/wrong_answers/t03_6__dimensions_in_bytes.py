# message: counts numbers, not bytes
def peak(sheet, width):
    fma_per_clock = sheet.sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000


def padded(size, width):
    return math.ceil(size * width / 128) * 16
