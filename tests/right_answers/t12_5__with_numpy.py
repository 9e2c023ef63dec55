def mxfp4(block):
    x = np.array(block)
    amax = np.abs(x).max()
    exponent = np.frexp(amax)[1] - 3 if amax else -127
    exponent = int(np.clip(exponent, -127, 127))
    size = np.clip(np.ldexp(np.abs(x), -exponent), 0, 6)
    unit = np.where(size < 2, 0.5, np.where(size < 4, 1.0, 2.0))
    size = np.rint(size / unit) * unit
    codes = np.searchsorted(E2M1, size) + 8 * np.signbit(x)
    return exponent + 127, codes.tolist()
