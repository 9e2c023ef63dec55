# message: the step uses the buffer that already has
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    master = master - np.float32(lr) * buffer
    buffer = np.float32(momentum) * buffer + gradient
    return master.astype(np.float16), master, buffer
