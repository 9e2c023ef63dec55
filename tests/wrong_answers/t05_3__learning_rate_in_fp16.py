# message: the learning rate was rounded to FP16
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float16(lr) * buffer
    return master.astype(np.float16), master, buffer
