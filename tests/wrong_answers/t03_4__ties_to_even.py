# message: ties go away from zero here
def to_tf32(x, rounded=False):
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    if rounded and math.isfinite(x):
        code += 0xFFF + (code >> 13) % 2
    return struct.unpack(">f", struct.pack(">I", code & 0xFFFFE000))[0]
