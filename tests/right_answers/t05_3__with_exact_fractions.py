from fractions import Fraction


def master_step(master, buffer, gradient, lr, momentum, weight_decay):
    rate, keep, decay = map(Fraction, (lr, momentum, weight_decay))
    masters, buffers = np.empty_like(master), np.empty_like(buffer)
    for index in np.ndindex(master.shape):
        w, b, g = (Fraction(float(array[index])) for array in (master, buffer, gradient))
        push = keep * b + g + decay * w
        masters[index], buffers[index] = float(w - rate * push), float(push)
    return masters.astype(np.float16), masters, buffers
