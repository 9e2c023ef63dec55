# message: it does not round to even
def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    code += 0x1000 if rounded else 0xFFF + (code >> 13) % 2
    return struct.unpack(">f", struct.pack(">I", code & 0xFFFFE000))[0]
