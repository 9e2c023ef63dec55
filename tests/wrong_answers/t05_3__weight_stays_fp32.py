# message: the model's weight has the type float16
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    return master, master, buffer
