# message: activations and gradients are not there at the same time
def peak(parameters, forward, step, each, batch):
    return max(forward, step) * parameters + each * batch


def largest_batch(parameters, forward, step, each, limit):
    if step * parameters > limit:
        return 0
    return max(0, (limit - max(forward, step) * parameters) // each)
