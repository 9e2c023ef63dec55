# message: not flushed to zero
def to_tf32(x, rounded=False):
    if not math.isfinite(x):
        return x
    if abs(x) < 2.0**-126:
        return math.copysign(0.0, x)
    code = struct.unpack(">I", struct.pack(">f", x))[0]
    if rounded:
        code += 0x1000
    return struct.unpack(">f", struct.pack(">I", code & 0xFFFFE000))[0]
