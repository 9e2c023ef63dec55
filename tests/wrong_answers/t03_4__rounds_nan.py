# message: that NaN was rounded up
def to_tf32(x, rounded=False):
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    if rounded:
        code += 0x1000
    return struct.unpack(">f", struct.pack(">I", code & 0xFFFFE000))[0]
