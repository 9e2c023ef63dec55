# message: asks for the nearest number
def to_tf32(x, rounded=False):
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    return struct.unpack(">f", struct.pack(">I", code & 0xFFFFE000))[0]
