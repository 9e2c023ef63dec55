def received(g, scale):
    stored = np.float16(g * scale)
    field = int(stored.view(np.uint16)) >> 10 & 31
    kind = "inf" if field == 31 else "full" if field else "coarse" if stored else "zero"
    return float(np.float32(stored) / np.float32(scale)), kind
