def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    wide = master.astype(float)
    push = momentum * buffer.astype(float) + gradient + weight_decay * wide
    master = (wide - lr * push).astype(np.float32)
    return np.float16(master), master, push.astype(np.float32)
