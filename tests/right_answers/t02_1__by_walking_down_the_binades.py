def ulp(x, fmt):
    """Start in the top binade and halve."""
    power = 2.0 ** (1 - fmt.emin)
    while power > 2.0**fmt.emin and power > abs(x):
        power /= 2
    return power / 2**fmt.significand_bits
