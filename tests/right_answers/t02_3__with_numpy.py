def round_to(x, fmt, mode):
    rounding = {"nearest_even": np.rint, "toward_zero": np.trunc, "up": np.ceil, "down": np.floor}
    _, n = np.frexp(x)
    exponent = max(int(n) - 1, fmt.emin) if x else fmt.emin
    count = rounding[mode](np.ldexp(np.float64(x), fmt.significand_bits - exponent))
    result = np.ldexp(count, exponent - fmt.significand_bits)
    if abs(result) > fmt.largest:
        keep = {"toward_zero": True, "up": x < 0, "down": x > 0, "nearest_even": False}[mode]
        result = np.float64(fmt.largest if keep else inf)
    return np.copysign(result, x)
