import struct


def finer(x):
    exponent = (struct.unpack("<Q", struct.pack("<d", x))[0] >> 52 & 0x7FF) - 1023
    if abs(x) >= 65504:
        return "bf16"
    difference = max(exponent, -14) - 10 - (max(exponent, -126) - 7)
    return ["same", "bf16", "fp16"][(difference > 0) - (difference < 0)]
