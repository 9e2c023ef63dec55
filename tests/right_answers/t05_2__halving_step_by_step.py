def unscale(gradients, scale):
    unscaled, found = [], False
    for gradient in gradients:
        wide, left = gradient.astype("f4"), scale
        while left > 1:
            wide, left = wide * np.float32(0.5), left / 2
        unscaled.append(wide)
        found = found or not math.isfinite(np.abs(wide).max())
    return unscaled, found
