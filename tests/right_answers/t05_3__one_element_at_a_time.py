def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    masters, buffers = [], []
    for w, b, g in zip(master.tolist(), buffer.tolist(), gradient.tolist(), strict=True):
        buffers.append(momentum * b + (g + weight_decay * w))
        masters.append(w - lr * buffers[-1])
    return np.array(masters, "f2"), np.array(masters, "f4"), np.array(buffers, "f4")
