# message: BF16 cuts 16 bits
def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    if rounded:
        code = (code + 0x1000) & 0xFFFFE000
    else:
        code &= 0xFFFF0000
    return struct.unpack(">f", struct.pack(">I", code))[0]
