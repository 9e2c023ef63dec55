# message: 84 SMs are on the die
def peak(sheet, width):
    fma_per_clock = sheet.die_sms * sheet.tensor_cores * sheet.fma * 16 / width
    return 2 * fma_per_clock * sheet.ghz / 1000


def padded(size, width):
    group = 128 // width
    return math.ceil(size / group) * group
