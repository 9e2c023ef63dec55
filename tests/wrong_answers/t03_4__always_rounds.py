# message: it rounds nothing up
def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    code = (code + 0x1000) & 0xFFFFE000
    return struct.unpack(">f", struct.pack(">I", code))[0]
