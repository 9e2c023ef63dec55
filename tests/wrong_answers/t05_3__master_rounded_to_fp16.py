# message: what the weight cannot hold must stay in the copy
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    master = master.astype(np.float16)
    return master, master, buffer
