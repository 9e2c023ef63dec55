def peak(sheet, width):
    per_core = Fraction(32 * sheet.fma, width)
    return per_core * sheet.tensor_cores * sheet.sms * Fraction(str(sheet.ghz)) / 1000


def padded(size, width):
    group = Fraction(16 * 8, width)
    return int(-(-size // group) * group)
