# message: TF32 uses 19 bits
def peak(sheet, width):
    fma_per_clock = sheet.sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000


def padded(size, width):
    group = 128 // (19 if width == 32 else width)
    return math.ceil(size / group) * group
