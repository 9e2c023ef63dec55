# message: carries one into the exponent
def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    field = code & 0x7FFFFF
    if rounded:
        field += 0x1000
    code = code & 0xFF800000 | field & 0x7FE000
    return struct.unpack(">f", struct.pack(">I", code))[0]
