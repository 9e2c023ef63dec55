def ulp(x, fmt):
    """Start at the bottom and double."""
    power = 2.0**fmt.emin
    while 2 * power <= abs(x):
        power *= 2
    return power / 2**fmt.significand_bits
