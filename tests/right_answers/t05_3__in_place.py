def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    buffer *= momentum
    buffer += gradient
    buffer += weight_decay * master
    master -= lr * buffer
    return master.astype("float16"), master, buffer
