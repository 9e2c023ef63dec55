def unscale(gradients, scale):
    found, unscaled = False, []
    for gradient in gradients:
        codes = np.ascontiguousarray(gradient).view(np.uint16)
        found |= bool(((codes & 0x7C00) == 0x7C00).any())
        unscaled.append(np.multiply(gradient, 1 / scale, dtype=np.float32))
    return unscaled, found
