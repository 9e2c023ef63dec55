# message: the factor of the decay was rounded to FP16
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float16(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    return master.astype(np.float16), master, buffer
