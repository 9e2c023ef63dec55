# message: the result has the type float64
def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    master, buffer, gradient = (a.astype(float) for a in (master, buffer, gradient))
    buffer = momentum * buffer + gradient + weight_decay * master
    master = master - lr * buffer
    return master.astype(np.float16), master, buffer
