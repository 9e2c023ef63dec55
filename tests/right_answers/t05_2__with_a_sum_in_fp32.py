def unscale(gradients, scale):
    wide = [np.array(gradient, dtype=np.float32) for gradient in gradients]
    total = sum((float(array.sum()) for array in wide), 0.0)
    return [np.ldexp(array, -int(np.log2(scale))) for array in wide], total - total != 0
