# message: torch's default has no dampening
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    gradient = gradient + np.float32(weight_decay) * master
    buffer = np.float32(momentum) * buffer + np.float32(1 - momentum) * gradient
    master = master - np.float32(lr) * buffer
    return master.astype(np.float16), master, buffer
