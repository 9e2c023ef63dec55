def unscale(gradients, scale):
    everything = np.concatenate([g.ravel() for g in gradients if g is not None] or [f32()])
    exponents = (everything.view(np.uint32) >> 23) & 255
    inverse = np.float32(1.0) * np.float32(1 / scale)
    return [g if g is None else inverse * g for g in gradients], bool((exponents == 255).any())
