def peak(sheet, width):
    operations = 2 * sheet.fma * 16 // width * sheet.tensor_cores * sheet.sms
    return operations * (sheet.ghz * 1e9) / 1e12


def padded(size, width):
    while size * width % 128:
        size += 1
    return size
