import struct


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def speedup(before, after):
    old, new = single(before["value"]), single(after["value"])
    return single(new / old if before["unit"].endswith("/s") else old / new)


def memory_change(before, after):
    return single(single(after["memory_mb"] / before["memory_mb"]) - 1)
