# message: the gradient was rounded to FP16
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    gradient = gradient.astype(np.float16).astype(np.float32)
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    return master.astype(np.float16), master, buffer
