# message: decay beside the momentum is AdamW's rule
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    buffer = np.float32(momentum) * buffer + gradient
    master = master - np.float32(lr) * (buffer + np.float32(weight_decay) * master)
    return master.astype(np.float16), master, buffer
