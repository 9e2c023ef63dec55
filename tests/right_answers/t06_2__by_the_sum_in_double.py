def unscale(gradients, scale):
    factor = np.array(1.0 / scale).astype(np.float32)
    present = [g for g in gradients if g is not None]
    total = sum((g.astype(np.float64).sum() for g in present), 0.0)
    return [None if g is None else np.multiply(g, factor) for g in gradients], total - total != 0
