# message: the update was added to the FP16 weight
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    master = master.astype(np.float16).astype(np.float32)
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * buffer
    return master.astype(np.float16), master, buffer
